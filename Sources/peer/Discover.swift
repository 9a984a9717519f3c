import MigrationDiscovery
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The options of `peer discover`.
struct DiscoverOptions: Equatable, Sendable {
  /// The default time of the search in seconds: enough for two questions and late answers.
  static let usualTime: Double = 3

  /// The time of the search in seconds.
  var time = Self.usualTime
  /// Whether a program reads the output.
  var json = false
}

extension DiscoverOptions {
  /// Parses the words after `peer discover`.
  init(_ arguments: Arguments) throws(Failure) {
    try arguments.refuseOperands()
    let hint = "Write seconds, or 90s, 10m, 2h."
    time = try arguments.seconds("--for", hint: hint) ?? Self.usualTime
    guard time > 0 else {
      throw .usage("--for: \(VisibleText.quoted(arguments.bytes("--for") ?? [])) is too short", hint: hint)
    }
    json = arguments.has("--json")
  }
}

/// `peer discover`: the devices on the network that wait for a transfer.
extension DiscoverOptions {
  /// Searches for the given time, and shows the devices found.
  func perform() -> Int32 {
    Answer.give(json: json) { () throws(Failure) in
      let found = try Self.look(for: time)
      return json ? Self.lines(found) : Self.table(found)
    }
  }

  /// Searches for the given number of seconds.
  static func look(for time: Double) throws(Failure) -> [NearbyDevice] {
    var interruption: Failure.Kind?
    let outcome: NetworkSearch.Outcome
    do throws(SystemError) {
      // This must precede all other threads.
      let signals = try SignalSource()
      let end = BootInstant(seconds: BootInstant.now().seconds + time)
      outcome = try NetworkSearch.look { () throws(SystemError) in
        interruption = try wait(for: signals, until: end)
      }
    } catch {
      throw FindingTrouble.refused(error).failure
    }
    if let interruption { throw .interrupted(by: interruption) }
    if outcome.receivers.isEmpty, let trouble = outcome.trouble { throw trouble.failure }
    return outcome.receivers
  }

  /// Waits until the time has passed; returns the signal that ended it earlier.
  private static func wait(
    for signals: borrowing SignalSource, until end: BootInstant
  ) throws(SystemError) -> Failure.Kind? {
    var poller = try Poller()
    while try !poller.wait(for: .readable, on: signals.raw, until: end).isEmpty {
      if let signal = try signals.next() { return signal.kind }
    }
    return nil
  }

  /// For a person: each device with the address most likely to work.
  static func table(_ receivers: [NearbyDevice]) -> Rendering {
    guard !receivers.isEmpty else {
      return Rendering(
        standardError: """
          No waiting device found on this network.
          peer: hint: Run 'peer receive' on the other device; firewalls must allow UDP port 5353.

          """)
    }
    let rows = receivers.map { [VisibleText.listed($0.label.utf8), $0.addresses.first?.description ?? ""] }
    return Rendering(standardOutput: Table.text([["NAME", "ADDRESS"]] + rows))
  }

  /// For a program: an object per line.
  static func lines(_ receivers: [NearbyDevice]) -> Rendering {
    receivers.map(\.line).reduce(Rendering(), +)
  }
}

extension NearbyDevice {
  fileprivate var line: Rendering {
    .event(
      "receiver",
      [
        "label": label, "addresses": addresses.map(\.hostDescription), "port": addresses.first?.port ?? 0,
        "instance": instance?.hexadecimal,
      ])
  }
}
