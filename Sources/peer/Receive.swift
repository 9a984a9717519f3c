import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The options of `peer receive`.
struct ReceiveOptions: Equatable, Sendable {
  /// The destination; nil for the current directory.
  var directory: [UInt8]?
  /// The app whose data is received, instead of folders.
  var app: String?
  /// Whether folders and the data of all installed apps are received.
  var takesEverything = false
  /// The options of the imports of the app, or of all apps.
  var importing = AppImporter.Options()
  /// Whether the person at the terminal has to accept the offer.
  var asks = false
  /// The classes that are taken without a question.
  var permissions: ArrivalClasses = .files
  /// The file with the code that the sender has too; nil to show a code.
  var codeFile: [UInt8]?
  /// Whether the sender's owners and groups are kept.
  var owners = false
  /// The file that maps the sender's owners to owners here, and its rules.
  var ownerMapFile: [UInt8]?
  var ownerMap = OwnerMap()
  /// The folder of the destination for each device; nil for the destination itself.
  var into: IntoTemplate?
  /// Whether set-user-id and set-group-id bits are kept.
  var setIDBits = false
  /// The action for names that are taken; nil for the action of the interrupted transfer, or
  /// `refuse`.
  var existing: Existing?
  /// The most bytes that a transfer may have; nil for as many as fit.
  var mostBytes: UInt64?
  /// How long, and how much, is kept of unfinished transfers.
  var keeping = Keeping()
  /// Whether this device announces itself on its networks, so that senders need no address.
  var isAnnounced = true
  /// The relay, if the user has named one.
  var via: Via?
  /// The options of the transfer itself.
  var transfer = Receiver.Options()
  /// Whether all useful addresses are shown.
  var isVerbose = false
  /// The file for the list of items that are not sent or stored; nil for one in PEER_HOME.
  var report: [UInt8]?
  /// Whether a program reads the output.
  var json = false
}

extension ReceiveOptions {
  /// Parses the words after `peer receive`.
  init(_ arguments: Arguments) throws(Failure) {
    guard arguments.operands.count < 2 else {
      let second = VisibleText.of(arguments.operands[1])
      throw .usage("unexpected argument '\(second)': 'peer receive' takes one directory", .receive)
    }
    directory = arguments.operands.first
    guard directory?.isEmpty != true else {
      throw .usage(
        "the directory to receive into is an empty string", hint: "Name a directory, or omit it for the current one.")
    }
    takesEverything = arguments.has("--everything")
    if takesEverything { try takeEverything(arguments) } else { try takeApp(arguments) }
    asks = arguments.has("--ask")
    if arguments.has("--take-apps") { permissions.insert(.apps) }
    if arguments.has("--take-secrets") { permissions.insert(.secrets) }
    if permissions.contains(.secrets), !permissions.contains(.apps) {
      throw .usage(
        "--take-secrets requires --take-apps",
        hint: "Add --take-apps: secrets are apps' data, which may hold what programs run.")
    }
    // The app that the user names is the answer.
    if app != nil { permissions = .all }
    if app != nil, directory != nil {
      throw .usage("unexpected argument \(VisibleText.quoted(directory ?? [])): --app takes no directory", .receive)
    }
    let keeps = arguments.has("--keep")
    codeFile = try arguments.codeFile()
    if keeps, app != nil { throw .usage("--keep cannot be used with --app", .receive) }
    if keeps, codeFile != nil {
      throw .usage(
        "--code-file cannot be used with --keep",
        hint: "Remove one of them; with --keep, each transfer has its own code.")
    }
    into = try arguments.text("--into").map { text throws(Failure) in try IntoTemplate(text) }
    if into != nil, app != nil || takesEverything {
      throw .usage("--into cannot be used with --\(app != nil ? "app" : "everything")", .receive)
    }
    owners = arguments.has("--owners")
    setIDBits = arguments.has("--set-id-bits")
    ownerMapFile = arguments.bytes("--owner-map")
    if ownerMapFile != nil, !owners {
      throw .usage("--owner-map requires --owners", hint: "Add --owners, or remove --owner-map.")
    }
    existing = try arguments.existing() ?? (takesEverything ? EverythingImporters.existing : nil)
    mostBytes = try arguments.size("--max-size")
    keeping = try Self.keeping(arguments)
    if keeping.isLimited, app != nil {
      throw .usage("--\(keeping.longest != nil ? "expire" : "max-kept") cannot be used with --app", .receive)
    }
    if app != nil, existing != nil {
      throw .usage("--existing cannot be used with --app", hint: "Use --replace to set aside the app's existing data.")
    }
    if app != nil, let option = ["--owners", "--set-id-bits", "--take-apps"].first(where: arguments.has) {
      throw .usage("\(option) cannot be used with --app", .receive)
    }
    let listen = try arguments.hostAndPort(
      "--listen", hint: "Write --listen PORT, or --listen HOST:PORT.", by: HostAndPort.parseListening)
    transfer = Receiver.Options(listen: listen)
    transfer.from = try arguments.ranges("--from")
    via = try Via(arguments)
    if let option = codeFile != nil ? "--code-file" : transfer.from.isEmpty ? nil : "--from", let via {
      guard !via.isOption else {
        let reason =
          option == "--from" ? "a relay may state any address" : "the place in front of the code is not known before"
        throw .usage("--via cannot be used with \(option)", hint: "Remove one of them: \(reason).")
      }
      self.via = nil
    }
    transfer.keeps = keeps
    let atOnce = try arguments.number(
      "--at-once", in: 1...ReceiverEngine.mostAtOnce, otherwise: "one sender is then served at a time")
    transfer.atOnce = atOnce ?? 1
    if atOnce != nil, !keeps {
      throw .usage("--at-once requires --keep", hint: "Add --keep, or remove --at-once.")
    }
    transfer.verifies = arguments.has("--verify")
    transfer.keepsPairings = arguments.has("--remember") || takesEverything
    if takesEverything { transfer.knownDevices = .migrating(isKept: arguments.has("--remember")) }
    if arguments.isGiven("--removed"), !takesEverything {
      throw .usage("--removed requires --everything", hint: "Add --everything, or remove --removed.")
    }
    let removals: [String: ArrivedItems.Removals] = ["again": .again, "meant": .meant]
    transfer.removals = try arguments.choice("--removed") { removals[$0] } ?? transfer.removals
    isAnnounced = !arguments.has("--no-announce")
    transfer.greeting.label = ThisDevice.label(try arguments.label())
    transfer.giveUpAfter = try arguments.patience() ?? transfer.giveUpAfter
    isVerbose = arguments.has("--verbose")
    report = arguments.bytes("--report")
    json = arguments.has("--json")
  }
}

extension ReceiveOptions {
  private static func keeping(_ arguments: Arguments) throws(Failure) -> Keeping {
    Keeping(
      longest: try arguments.seconds("--expire", hint: "Write a number of days, as in 14d.", atMost: 3650 * 86_400),
      most: try arguments.size("--max-kept"))
  }

  /// The metadata that is preserved at the user's request.
  var preserved: Preserved { Preserved(owners: owners, setIDBits: setIDBits, map: ownerMap) }

  /// Reads the options about an app.
  private mutating func takeApp(_ arguments: Arguments) throws(Failure) {
    app = try arguments.app()
    guard app != nil else {
      for option in ["--platform", "--option", "--replace"] where arguments.isGiven(option) {
        throw .usage("\(option) requires --app", hint: "Add --app ID, or remove \(option).")
      }
      return
    }
    importing.platform = try arguments.platform() ?? importing.platform
    importing.replaces = arguments.has("--replace")
    importing.requested = try arguments.requestOptions(.receive)
  }
}

/// Waits for another device and receives what it sends.
func runReceive(_ given: ReceiveOptions, _ output: Output) throws(Failure) -> TransferResult {
  var options = given
  if let file = options.ownerMapFile { options.ownerMap = try OwnerMapFile.read(file) }
  let interruption = try Interruption()
  try prepareProcess()
  try options.checkOwner()
  let home = try Home.forRecords()
  var transfer = options.transfer
  transfer.code = try options.codeFile.map { path throws(Failure) in try CodeFile.read(path) }
  transfer.relay = try options.via?.access(
    home: home, output, asksProgram: options.asks && options.json, unless: [interruption.raw])
  // A program's user has no use for a port of a certain number.
  if options.asks, options.json, !transfer.isPortChosen, isTaken(Limits.defaultPort) {
    transfer.listen = HostAndPort(host: nil, port: 0)
  }
  // The file may be outside the directories that the process is about to be confined to.
  output.list(in: try ItemList.File(options.report, in: home, .receiver))
  let known = options.takesEverything ? KnownApps(records: home) : nil
  let arrivals = try options.arrivals(knowing: known, home: home)
  let place = try options.place
  let settings = known.flatMap { SettingsLoader.start(for: $0, home: place) }
  let manager = ServiceManager()
  // This must precede all other threads.
  try confine(options, home: home, output)
  if let notice = arrivals?.notice { output.handle(.notice(notice)) }
  let rule = arrivals.map { ArrivalRule($0.facts) } ?? ArrivalRule()
  var helpers = Receiver.Helpers()
  // A code from a file is never replaced by a new one.
  if transfer.code == nil {
    helpers.restart = RestartEntry.asker(json: options.json, unless: interruption.raw)
  }
  transfer.permissions = options.permissions
  helpers.consent = try options.consent(output, unless: interruption)
  // Threads may start after this.
  try interruption.watch()
  interruption.tell { _ in output.hurry() }
  let importers = try interruption.honoured { () throws(Failure) -> any Importers in
    guard let known else {
      return try makeImporter(options, home: home, judging: rule, until: interruption.early) { output.handle($0) }
    }
    for note in known.notes { output.handle(.notice(note)) }
    let use = options.asks && options.json ? AppUse(output, asksProgram: true, "arrives") : nil
    let everything = try EverythingImporters(
      options, home: home, knowing: known, judging: rule, settings: settings, waiting: use, until: interruption.early
    ) {
      output.handle($0)
    }
    output.advise(by: everything.nextSteps)
    return everything
  }
  let store = TransferStore(home: home)
  // A program has other words for its user than those of commands.
  if options.app == nil, !(options.asks && options.json) {
    let notices = Unfinished.damage(sending: false, store) + (try Unfinished.notices(in: destination(options), store))
    for notice in notices { output.handle(.notice(notice)) }
  }
  let (expiry, left, verifies) = (try options.expiry(store, output), LeftData(), transfer.verifies)
  let end = MoveEnd()
  do {
    let result = try PeerReceiver.receive(
      transfer, into: importers, memory: store, isAnnounced: options.isAnnounced, with: helpers
    ) {
      if verifies, $0.isOfEarlierImport {
        output.handle(.notice("it had arrived in an earlier run, and --verify does not read it again"))
      }
      end.note($0)
      output.handle(left.advising($0))
      expiry?.note($0)
      if case .listening = $0 { manager.tellReady() }
    } stopping: { stop in
      interruption.tell { kind in
        output.hurry()
        stop(kind)
      }
    }
    if options.takesEverything, let path = try? destination(options).canonicalPath() { end.settle(at: path, in: store) }
    return result
  } catch {
    throw left.advising(error)
  }
}

extension ReceiveOptions {
  /// Forgets what is not to be kept, from now on; nil where there is no such rule.
  fileprivate func expiry(_ store: TransferStore, _ output: Output) throws(Failure) -> UnfinishedExpiry? {
    guard keeping.isLimited else { return nil }
    let place = try destination(self)
    let path = try Failure.wrapping(place.canonicalPath())
    let expiry = UnfinishedExpiry(keeping: keeping, destination: path, store: store) { output.handle(.notice($0)) }
    try Failure.wrapping(expiry.begin())
    return expiry
  }
}

/// The importer of folders or of an app.
func makeImporter(
  _ options: ReceiveOptions, home: [UInt8], judging rule: ArrivalRule = ArrivalRule(),
  until stop: StopSignal = StopSignal(), telling tell: @escaping @Sendable (TransferEvent) -> Void
) throws(Failure) -> any Importer {
  let most = options.mostBytes.map { MostBytes($0) }
  guard let app = options.app else {
    return try FolderImporter(
      into: try options.place,
      preserving: options.preserved, atMost: most,
      existing: options.existing, judging: rule,
      folders: options.into?.folders(by: TransferStore(home: home)))
  }
  var wanted = options.importing
  wanted.most = most
  return try AppImporter(
    app: app, home: try AppHome(home: home), options: wanted, until: stop, observer: HostNews.telling(tell))
}

extension ReceiveOptions {
  /// The rule for items that programs may run or that are secrets; nil for an app, which its user has named.
  fileprivate func arrivals(
    knowing known: KnownApps?, home: [UInt8]
  ) throws(Failure) -> ArrivalFacts? {
    guard app == nil else { return nil }
    let folders = KnownApps.described(records: home)
    // The package of new apps is the whole of a clone.
    let shipped = [
      ShippedFolder("page", source: "Sources/Computer/MigrationPage/Page"), ShippedFolder("package", source: ""),
    ].compactMap { $0?.path }
    let directory = try destination(self)
    let place = try Failure.wrapping(directory.canonicalPath())
    return ArrivalFacts(
      destination: place, own: folders + shipped + [home],
      secrets: (known?.catalogue ?? AppCatalogue(folders: folders)).secretPlaces,
      asksShell: !permissions.contains(.apps))
  }

  /// Asks the person at the terminal, or the program that reads the output; nil without one that can
  /// answer.
  fileprivate func consent(
    _ output: Output, unless interruption: borrowing Interruption
  ) throws(Failure) -> ConsentAsker? {
    let isOfProgram = asks && json
    if asks, !isOfProgram { try ConsentEntry.check() }
    guard asks || app == nil, isOfProgram || Questioner() != nil else { return nil }
    let entry = ConsentEntry(
      output: output, interruption: interruption.raw, permissions: permissions,
      asksAlways: asks || takesEverything, isOfProgram: isOfProgram)
    return { entry.ask($0, until: $1) }
  }
}

private func isTaken(_ port: UInt16) -> Bool {
  do {
    _ = try ListeningSocket(host: nil, port: port)
    return false
  } catch {
    return true
  }
}

/// The destination, which is created if it is missing: only an existing directory can be the
/// boundary of writes.
func destination(_ options: ReceiveOptions) throws(Failure) -> Directory {
  let place = try options.place
  return try StagingArea.openOrMake(place)
}

extension TransferEvent {
  /// Whether it is the end of data that an earlier run has put in place.
  fileprivate var isOfEarlierImport: Bool {
    switch plain {
    case .done(let result): result.concludedAt != nil
    case .partEnded(let end): if case .success(let result) = end.result { result.concludedAt != nil } else { false }
    default: false
    }
  }
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
  private static func command(as name: String?, _ status: FileStatus, _ path: [UInt8], _ command: String) -> String {
    if let name { return "runuser -u \(name) -- \(command)" }
    return "setpriv --reuid \(status.owner) --regid \(status.group) --clear-groups "
      + "env HOME=\(VisibleText.listed(path)) \(command)"
  }
}
