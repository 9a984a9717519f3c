import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// The directory of the program's state: PEER_HOME.
enum Home {
  /// The directory, which need not exist yet. A directory that belongs to another user, or that
  /// other users may change, is refused: it contains keys, paths and apps.
  static func path() throws(TransferFailure) -> [UInt8] {
    let path = try chosen()
    try TransferStore.check(path, hint: "Set PEER_HOME to a directory of your own.")
    return path
  }

  private static func chosen() throws(TransferFailure) -> [UInt8] {
    if let home = value("PEER_HOME") { return home }
    // The base directory specification: a relative path is ignored.
    if let data = value("XDG_DATA_HOME"), data.first == slash { return data + Array("/peer".utf8) }
    if let home = value("HOME") { return home + Array("/.local/share/peer".utf8) }
    throw .usage(
      "no directory for the program's state: neither PEER_HOME nor HOME is set",
      hint: "set PEER_HOME to a directory of your own")
  }

  private static let slash = UInt8(ascii: "/")

  private static func value(_ name: String) -> [UInt8]? {
    Environment.bytes(name).flatMap { $0.isEmpty ? nil : $0 }
  }
}
