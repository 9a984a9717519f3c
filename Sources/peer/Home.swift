import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// Where the program keeps what it must know from run to run: PEER_HOME.
enum Home {
  /// The directory; it need not exist yet. One that other users may change, or that is another user's, is refused: keys and
  /// paths are kept there, and apps.
  static func path() throws(TransferFailure) -> [UInt8] {
    let path = try chosen()
    try TransferStore.check(path, hint: "Set PEER_HOME to a directory of your own.")
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

  private static let slash = UInt8(ascii: "/")

  private static func value(_ name: String) -> [UInt8]? {
    Environment.bytes(name).flatMap { $0.isEmpty ? nil : $0 }
  }
}
