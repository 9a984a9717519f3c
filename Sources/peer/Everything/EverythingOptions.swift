import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The options of `peer send --everything`.
struct EverythingOptions: Equatable, Sendable {
  /// Another home on this device; nil for this user's home.
  var home: [UInt8]?
  /// The names of entries that do not move.
  var skipped: [[UInt8]] = []
  /// The only apps that move, in this order; empty for the apps that move by default.
  var apps: [String] = []
  /// Whether the plan is only shown.
  var isDry = false
  /// Whether the program waits until a person has closed an app, also without a terminal.
  var waits = false
}

extension EverythingOptions {
  /// Reads the options of `peer send --everything`; nil without it.
  init?(_ arguments: Arguments, apps: [String]) throws(Failure) {
    guard arguments.has("--everything") else {
      for option in ["--home", "--skip", "--dry-run", "--wait"] where arguments.isGiven(option) {
        throw .usage("\(option) requires --everything", hint: "Add --everything, or remove \(option).")
      }
      return nil
    }
    if let path = arguments.operands.first {
      throw .usage(
        "unexpected argument \(VisibleText.quoted(path)): --everything takes no path",
        hint: "Leave items out with --skip, or name another home with --home.")
    }
    for option in ["--exclude", "--exclude-from", "--exclude-caches", "--one-file-system", "--owners"]
    where arguments.isGiven(option) {
      throw .usage("\(option) cannot be used with --everything", hint: "Leave items out with --skip.")
    }
    home = arguments.bytes("--home")
    skipped = arguments.all("--skip")
    self.apps = apps
    isDry = arguments.has("--dry-run")
    waits = arguments.has("--wait")
  }

  /// The path that a home from another computer had there.
  enum FormerHome {
    private static let list = Array("etc/passwd".utf8)
    private static let longest = 1 << 20

    /// The path that a home had there, as the list of users says that is on the same disk: of the
    /// directories above, that with a list in which the rest of the path is the home of a user. Nil if there is none.
    static func path(of home: [UInt8]) -> [UInt8]? {
      var directory = home
      while directory.count > 1 {
        directory = FileContent.split(directory).directory
        let rest = directory == [UInt8(ascii: "/")] ? home : Array(home.dropFirst(directory.count))
        if homes(below: directory).contains(rest) { return rest }
      }
      return nil
    }

    /// The homes of the users whom the list of a disk names, or of this system. Links on it lead into
    /// this system, and are not followed.
    static func homes(below directory: [UInt8]) -> Set<[UInt8]> {
      guard let disk = try? Directory.open(directory),
        let folder = try? disk.openDirectoryBeneath(FileContent.split(list).directory),
        let content = try? folder.openChild(FileContent.split(list).name).readAll(limit: longest)
      else { return [] }
      return Set(
        content.split(separator: UInt8(ascii: "\n")).compactMap { line in
          let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
          return fields.count == 7 ? Array(fields[5]) : nil
        })
    }
  }
}

extension ReceiveOptions {
  /// Reads the options of `peer receive --everything`.
  mutating func takeEverything(_ arguments: Arguments) throws(Failure) {
    takesEverything = true
    for option in ["--app", "--platform", "--option"] where arguments.isGiven(option) {
      throw .usage("\(option) cannot be used with --everything", hint: "Remove one of them.")
    }
    if arguments.isGiven("--existing") {
      throw .usage(
        "--existing cannot be used with --everything",
        hint: "Remove it: nothing that exists is changed. --replace is for the data of apps.")
    }
    if arguments.has("--keep") {
      throw .usage(
        "--keep cannot be used with --everything", hint: "Remove --keep: a computer is moved once, from one device.")
    }
    importing.replaces = arguments.has("--replace")
  }

  /// The path of the destination.
  var place: [UInt8] {
    get throws(Failure) {
      if let directory { return directory }
      return takesEverything ? try Home.ofUser(hint: "Name the directory to receive into.") : Array(".".utf8)
    }
  }

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
