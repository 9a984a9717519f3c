import MigrationEngine
import MigrationFinding
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// What `peer discover` was told.
struct DiscoverOptions: Equatable, Sendable {
  /// For how many seconds it looks: two questions are asked in that time, and late answers come.
  static let usualTime: Double = 3

  /// For how many seconds it looks.
  var time = Self.usualTime
  /// Whether a program reads the output.
  var json = false
}

/// `peer discover`: the devices on the network that wait for a transfer.
enum Discover {
  /// Looks for as long as it should, and shows what was found.
  static func perform(_ options: DiscoverOptions) -> Int32 {
    Answer.give(json: options.json) { () throws(TransferFailure) in
      let found = try look(for: options.time)
      return options.json ? lines(found) : table(found)
    }
  }

  /// Looks for so many seconds.
  static func look(for time: Double) throws(TransferFailure) -> [NearbyReceiver] {
    var interruption: TransferFailure.Kind?
    let outcome: NetworkSearch.Outcome
    do throws(SystemError) {
      // Before there is any other thread.
      let signals = try SignalSource()
      let end = BootInstant(seconds: BootInstant.now().seconds + time)
      outcome = try NetworkSearch.look { () throws(SystemError) in
        interruption = try wait(for: signals, until: end)
      }
    } catch {
      throw FindingTrouble.refused(error).fault.failure
    }
    if let interruption { throw TransferFailure(interruption, "interrupted") }
    if outcome.receivers.isEmpty, let trouble = outcome.trouble { throw trouble.fault.failure }
    return outcome.receivers
  }

  /// Waits for the end of the time; which signal ended it before.
  private static func wait(
    for signals: borrowing SignalSource, until end: BootInstant
  ) throws(SystemError) -> TransferFailure.Kind? {
    var poller = try Poller()
    while try !poller.wait(for: .readable, on: signals.raw, until: end).isEmpty {
      switch try signals.next() {
      case .interrupt: return .interrupted
      case .terminate, .hangUp: return .terminated
      case nil: continue
      }
    }
    return nil
  }

  /// For a person: each with the address that is the most likely to work.
  static func table(_ receivers: [NearbyReceiver]) -> Rendering {
    guard !receivers.isEmpty else {
      return Rendering(
        standardError: """
          No device is waiting on this network.
          peer: hint: run 'peer receive' on the other device; firewalls must let UDP port 5353 through

          """)
    }
    let rows = receivers.map { [VisibleText.of($0.label), $0.addresses.first?.description ?? ""] }
    return Rendering(standardOutput: Table.text([["NAME", "ADDRESS"]] + rows))
  }

  /// For a program: an object a line.
  static func lines(_ receivers: [NearbyReceiver]) -> Rendering {
    Rendering(standardOutput: receivers.map { $0.object.text + "\n" }.joined())
  }
}

extension NearbyReceiver {
  fileprivate var object: JSONValue {
    .object([
      .init("event", .string("receiver")), .init("label", .string(label)),
      .init("addresses", .array(addresses.map { .string($0.hostDescription) })),
      .init("port", .integer(UInt64(addresses.first?.port ?? 0))),
      .init("instance", instance.map { .string($0.sixteenDigits) } ?? .null),
    ])
  }
}

extension UInt64 {
  fileprivate var sixteenDigits: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
