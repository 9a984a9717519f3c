import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

extension EverythingOptions {
  /// Reads the options of `peer send --everything`; nil without it.
  init?(_ arguments: Arguments, apps: [String]) throws(TransferFailure) {
    guard arguments.has("--everything") else {
      for option in ["--home", "--skip"] where arguments.bytes(option) != nil {
        throw .usage("\(option) requires --everything", hint: "Add --everything, or remove \(option).")
      }
      for option in ["--dry-run", "--wait"] where arguments.has(option) {
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
    where arguments.has(option) || arguments.bytes(option) != nil {
      throw .usage("\(option) cannot be used with --everything", hint: "Leave items out with --skip.")
    }
    home = arguments.bytes("--home")
    skipped = arguments.all("--skip")
    self.apps = apps
    isDry = arguments.has("--dry-run")
    waits = arguments.has("--wait")
  }
}

extension ReceiveOptions {
  /// Reads the options of `peer receive --everything`.
  mutating func takeEverything(_ arguments: Arguments) throws(TransferFailure) {
    takesEverything = true
    for option in ["--app", "--platform", "--option"] where arguments.bytes(option) != nil {
      throw .usage("\(option) cannot be used with --everything", hint: "Remove one of them.")
    }
    if arguments.has("--keep") {
      throw .usage(
        "--keep cannot be used with --everything", hint: "Remove --keep: a computer is moved once, from one device.")
    }
    importing.replaces = arguments.has("--replace")
  }

  /// The path of the destination.
  var place: [UInt8] {
    get throws(TransferFailure) {
      if let directory { return directory }
      guard takesEverything else { return Array(".".utf8) }
      guard let home = Environment.bytes("HOME") ?? CurrentProcess.homeDirectory, !home.isEmpty else {
        throw .usage("you have no home directory", hint: "Name the directory to receive into.")
      }
      return home
    }
  }

  /// Refuses to receive as root into another user's directory: that user could not use the files.
  func checkOwner() throws(TransferFailure) {
    let path = try place
    guard takesEverything, CurrentProcess.effectiveUserID == 0, let status = try? Directory.status(of: path),
      status.owner != 0
    else { return }
    let name = CurrentProcess.name(ofUser: status.owner).map { VisibleText.listed($0) }
    throw TransferFailure(
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

extension EverythingImporters {
  /// The importers for a command line.
  convenience init(
    _ options: ReceiveOptions, home: [UInt8], allowing permissions: Permissions, settings: SettingsLoader? = nil,
    until stop: StopSignal,
    telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) {
    let folders = try FolderImporter(
      into: try options.place, preserving: options.preserved,
      atMost: options.mostBytes.map { MostBytes($0) }, existing: options.existing)
    let path = try options.place
    let directory: SharedDirectory
    do throws(ArchiveError) {
      directory = SharedDirectory(try StagingArea.openOrMake(path))
    } catch {
      throw TransferFailure(error)
    }
    let apps: AppHome
    do throws(HostError) {
      apps = try AppHome(home: home)
    } catch {
      throw TransferFailure(error)
    }
    var importing = options.importing
    importing.most = options.mostBytes.map { MostBytes($0) }
    self.init(
      folders: folders, home: directory, knowing: KnownApps(records: home), apps: apps,
      store: TransferStore(home: home),
      options: importing, allowing: permissions, settings: settings, until: stop
    ) { news in
      if let event = TransferEvent(news) { tell(event) }
    }
  }
}
