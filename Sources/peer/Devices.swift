import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The options of `peer device`.
enum DeviceCommand: Equatable, Sendable {
  case list
  case name(String, as: String)
  case forget(String)

  /// Parses the words after a command about known devices.
  init(_ verb: Verb, _ arguments: Arguments) throws(Failure) {
    switch verb {
    case .deviceList:
      try arguments.refuseOperands()
      self = .list
    case .deviceName:
      let words = try Self.words(arguments, 2, "Write a device of 'peer device list', and its new name.")
      guard !words[1].isEmpty, words[1].utf8.count <= Limits.label else {
        throw .usage("the name has \(words[1].utf8.count) bytes", hint: "Write 1 to \(Limits.label) bytes.")
      }
      self = .name(words[0], as: words[1])
    case .deviceForget:
      self = .forget(try Self.words(arguments, 1, "Write a device of 'peer device list'.")[0])
    default: throw .noCommand(of: .device, arguments)
    }
  }

  private static func words(
    _ arguments: Arguments, _ count: Int, _ hint: String
  ) throws(Failure) -> [String] {
    let words = arguments.operands.compactMap { String(validating: $0, as: UTF8.self) }
    guard arguments.operands.count == count, words.count == count else {
      throw .usage(
        arguments.operands.count < count ? "missing argument" : "too many arguments, or one that is not text",
        hint: hint)
    }
    return words
  }
}

/// `peer device`: the devices that need no code.
extension DeviceCommand {
  /// Performs the command.
  func answer(json: Bool) throws(Failure) -> Rendering {
    let store = try TransferStore.ofUser()
    switch self {
    case .list:
      let devices = try store.devices()
      return json ? devices.map(\.line).reduce(Rendering(), +) : Self.table(devices)
    case .name(let typed, let name):
      let device = try store.name(typed, name)
      return json
        ? device.line
        : Rendering(standardError: "\(VisibleText.of(device.label)) is called \(VisibleText.of(name)) now.\n")
    case .forget(let typed):
      let forgotten = try store.forgetDevice(typed)
      let device = forgotten.device
      let first =
        json
        ? device.line
        : Rendering(standardError: "\(VisibleText.of(device.shownName)) needs a code from now on.\n")
      return forgotten.transfers.map { json ? $0.line : $0.sentence }.reduce(first, +)
    }
  }

  private static func table(_ devices: [KnownDevice]) -> Rendering {
    guard !devices.isEmpty else { return Rendering(standardError: "There are no known devices.\n") }
    let now = Timestamp.coarseNow().seconds
    let head = ["ID", "DEVICE", "ROLE", "ADDRESS", "TRANSFERS", "FIRST", "LAST", "KNOWN"]
    return Rendering(
      standardOutput: Table.text(
        [head]
          + devices.map { device in
            [
              String(device.identifier.prefix(8)), VisibleText.of(device.shownName),
              device.role == .sender ? "sending to" : "receiving from", VisibleText.of(device.address),
              String(device.transfers), Figures.ago(now - device.since), Figures.ago(now - device.lastUsed),
              device.until.map { "for \(Figures.count(UInt64(max(0, $0 - now + 86_399)) / 86_400, "day"))" }
                ?? "until forgotten",
            ]
          }))
  }
}

extension KnownDevice {
  /// For a program.
  fileprivate var line: Rendering {
    .event(
      "device",
      [
        "id": identifier, "role": role == .sender ? "sender" : "receiver", "label": label, "name": name,
        "address": address, "transfers": transfers, "first": CalendarTime.text(since),
        "last": CalendarTime.text(lastUsed), "until": IfGiven(until.map { CalendarTime.text($0) }),
      ])
  }
}
