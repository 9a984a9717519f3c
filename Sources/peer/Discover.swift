import MigrationDiscovery
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The options of `peer discover`.
struct DiscoverOptions: Equatable, Sendable {
  /// The time of the search in seconds.
  var time = SenderEngine.searchLength
  /// Whether a program reads the output.
  var json = false
}

extension DiscoverOptions {
  /// Parses the words after `peer discover`.
  init(_ arguments: Arguments) throws(Failure) {
    try arguments.refuseOperands()
    let hint = "Write seconds, or 90s, 10m, 2h."
    time = try arguments.seconds("--for", hint: hint) ?? SenderEngine.searchLength
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
    Answer.give(json: json) { (json) throws(Failure) in
      let found = try Self.look(for: time)
      return json ? Self.lines(found) : Self.table(found)
    }
  }

  /// Searches for the given number of seconds.
  static func look(for time: Double) throws(Failure) -> [NearbyDevice] {
    // This must precede all other threads.
    let interruption = try Interruption()
    try interruption.watch()
    let found = Result { () throws(Failure) in try NetworkSearch().look(for: time, unless: interruption.early) }
    if let kind = interruption.kind { throw .interrupted(by: kind) }
    return try found.get()
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
