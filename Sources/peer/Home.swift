import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Where the program keeps what it must know from run to run: PEER_HOME.
enum Home {
  /// The directory; it need not exist yet. One that other users may change, or that is another user's, is refused: keys and
  /// paths are kept there, and apps.
  static func path() throws(TransferFailure) -> [UInt8] {
    let path = try chosen()
    try check(path, owner: CurrentProcess.effectiveUserID)
    return path
  }

  private static func chosen() throws(TransferFailure) -> [UInt8] {
    if let home = value("PEER_HOME") { return home }
    // The base directory specification: a relative path does not count.
    if let data = value("XDG_DATA_HOME"), data.first == slash { return data + Array("/peer".utf8) }
    if let home = value("HOME") { return home + Array("/.local/share/peer".utf8) }
    throw .usage(
      "there is no place to remember transfers in: neither PEER_HOME nor HOME is set",
      hint: "set PEER_HOME to a directory of your own")
  }

  /// Fails unless only a user and root can change what is in a directory. A link to a directory counts as that directory.
  static func check(_ path: [UInt8], owner: UInt32) throws(TransferFailure) {
    // Who uses what cannot be opened says why; what is missing is made for its owner alone.
    guard let status = try? Directory.open(path).status() else { return }
    let name = VisibleText.quoted(path)
    guard status.owner == owner || status.owner == 0 else {
      throw TransferFailure(
        .refused, "\(name), where transfers are remembered, belongs to another user",
        hint: "Set PEER_HOME to a directory of your own.")
    }
    guard status.mode & 0o022 == 0 else {
      throw TransferFailure(
        .refused, "other users may change what is in \(name), where transfers are remembered",
        hint: "Take that from them: chmod 700 \(VisibleText.listed(path))")
    }
  }

  private static let slash = UInt8(ascii: "/")

  private static func value(_ name: String) -> [UInt8]? {
    Environment.bytes(name).flatMap { $0.isEmpty ? nil : $0 }
  }
}
