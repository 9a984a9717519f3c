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

extension ReceiveOptions {
  /// Refuses to receive as root into another user's directory: that user could not use the files.
  func checkOwner() throws(Failure) {
    let path = try place
    guard takesEverything, CurrentProcess.effectiveUserID == 0, let status = try? Directory.status(of: path),
      status.owner != 0
    else { return }
    let name = SystemAccounts.name(ofUser: status.owner).map { VisibleText.listed($0) }
    throw Failure(
      .refused,
      "\(VisibleText.quoted(path)) belongs to \(name ?? "user \(status.owner)"), "
        + "and what root receives would belong to root",
      hint: "Receive as that user: "
        + Self.command(as: name, status, path, CommandLineText.of(CurrentProcess.arguments)))
  }

  /// The command line that runs another one as the owner of a directory. A user without a name has no
  /// home but this directory.
  static func command(as name: String?, _ status: FileStatus, _ path: [UInt8], _ command: String) -> String {
    if let name { return "runuser -u \(name) -- \(command)" }
    return "setpriv --reuid \(status.owner) --regid \(status.group) --clear-groups "
      + "env HOME=\(VisibleText.listed(path)) \(command)"
  }
}

extension TransferEvent {
  /// An event for news of an extension's host; nil for news that only its author gets.
  init?(_ news: HostNews) {
    switch news {
    case .output(let output): self = .extensionOutput(isError: output.stream == .error, line: output.line)
    case .notice(let text), .weakness(let text): self = .notice(text)
    case .refused, .appended: return nil
    }
  }
}

extension HostNews {
  /// Tells the user's part of the news.
  static func telling(_ tell: @escaping @Sendable (TransferEvent) -> Void) -> @Sendable (HostNews) -> Void {
    return { news in
      if let event = TransferEvent(news) { tell(event) }
    }
  }
}

/// Works with the apps of PEER_HOME.
func withApps<Value>(_ body: (AppHome) throws(Failure) -> Value) throws(Failure) -> Value {
  let path = try Home.path()
  return try body(AppHome(home: path))
}
