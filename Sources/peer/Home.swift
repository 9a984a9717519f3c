import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The directory of the program's state: PEER_HOME.
enum Home {
  /// The directory, which need not exist yet. A directory that other users may change, or put
  /// another one in the place of, is refused: it contains keys, paths and apps. So root keeps nothing
  /// in another user's home, which HOME may still name.
  static func path() throws(Failure) -> [UInt8] {
    let path = try chosen()
    try check(path)
    return path
  }

  private static func check(_ path: [UInt8]) throws(Failure) {
    let isNamed = !(Environment.bytes("PEER_HOME") ?? []).isEmpty
    try TransferStore.check(
      path, hint: "Set \(isNamed ? "" : "HOME to your own home, or ")PEER_HOME to a directory of your own.")
  }

  /// The directory for a transfer, which is created if it is missing. Fails if it cannot keep the
  /// record of the transfer.
  static func forRecords() throws(Failure) -> [UInt8] {
    let path = try path()
    do throws(SystemError) {
      try Directory.openOrMake(path, mode: 0o700).checkWritable()
    } catch {
      throw Failure(
        error.isNoSpace ? .noSpace : .refused,
        "\(VisibleText.quoted(path)) cannot keep the record of a transfer, without which none resumes: \(error.words)",
        hint: "Choose a directory of your own, and start again: export PEER_HOME=~/.peer-state")
    }
    // Another user may have made it first.
    try check(path)
    return path
  }

  /// The directory by the environment, or below the home in the password file.
  static func chosen(
    by variable: (String) -> [UInt8]? = Environment.bytes, else home: [UInt8]? = CurrentProcess.homeDirectory
  ) throws(Failure) -> [UInt8] {
    func value(_ name: String) -> [UInt8]? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
    if let home = value("PEER_HOME") { return home }
    // The base directory specification: a relative path is ignored.
    if let data = value("XDG_DATA_HOME"), data.first == UInt8(ascii: "/") { return data + Array("/peer".utf8) }
    if let home = value("HOME") ?? home, !home.isEmpty { return home + Array("/.local/share/peer".utf8) }
    throw Failure(
      .refused,
      "no directory for the program's state: PEER_HOME and HOME are not set, and the password file has no home",
      hint: "Set PEER_HOME to a directory of your own.")
  }

  /// The home directory of the user, unless another one is named.
  static func ofUser(unless named: [UInt8]? = nil, hint: String) throws(Failure) -> [UInt8] {
    if let home = named ?? Environment.bytes("HOME") ?? CurrentProcess.homeDirectory, !home.isEmpty { return home }
    throw .usage("you have no home directory", hint: hint)
  }
}

extension TransferStore {
  /// The records in the directory of the program's state.
  static func ofUser() throws(Failure) -> TransferStore { TransferStore(home: try Home.path()) }
}

/// Works with the apps of PEER_HOME.
func withApps<Value>(_ body: (AppHome) throws(Failure) -> Value) throws(Failure) -> Value {
  let path = try Home.path()
  return try body(AppHome(home: path))
}
