import MigrationSystem
import MigrationTransfer
import MigrationWire

extension Arguments {
  /// An option's value as an address, nil if it was not given.
  func hostAndPort(
    _ option: String, hint: String,
    by parse: (String, UInt16) throws(HostAndPort.ParseError) -> HostAndPort
  ) throws(TransferFailure) -> HostAndPort? {
    guard let text = try text(option) else { return nil }
    do {
      return try parse(text, Limits.defaultPort)
    } catch {
      throw .usage("\(option): \(error)", hint: hint)
    }
  }

  /// What this device wants to be called, nil if it was not said.
  func label() throws(TransferFailure) -> String? {
    guard let label = try text("--label") else { return nil }
    guard label.utf8.count <= Limits.label else {
      throw .usage("the label is too long", hint: "a label has at most \(Limits.label) bytes")
    }
    return label
  }
}
