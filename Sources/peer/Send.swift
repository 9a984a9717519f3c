import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The options of `peer send`.
struct SendOptions: Equatable, Sendable {
  /// Paths as they were typed; no name occurs twice. At least one, unless there are apps.
  var sources: [[UInt8]]
  /// The apps whose data is sent, in their order, and how many of them come before the folders.
  var apps: [String] = []
  var appsInFront = 0
  /// The entries of a whole home that move, instead of named paths.
  var everything: EverythingOptions?
  /// The claimed source of the apps' data; nil for the sources in their bundles.
  var claim: SourceClaim?
  /// The time in which an app's exporter may append nothing.
  var idleLimit = IdleLimit.standard
  /// Whether an app's extension is confined; its author may turn that off.
  var isConfined = true
  /// Whether owners and groups are sent.
  var owners = false
  /// The exclusions in the order in which they were given; for folders only.
  var exclusions: [ExclusionSource] = []
  /// Whether the contents of directories that are marked as caches are excluded; for folders only.
  var isWithoutCaches = false
  /// Whether other file systems below a source are left out; for folders only.
  var isOnOneFileSystem = false
  /// The options of the transfer itself.
  var transfer = Sender.Options()
  /// The relay, if the user has named one.
  var via: Via?
  /// The source of the code.
  var code = CodeSource.prompt
  /// The file for the list of items that are not sent or stored; nil for one in PEER_HOME.
  var report: [UInt8]?
  /// Whether a program reads the output.
  var json = false
  /// Whether that program answers questions on standard input.
  var asks = false

  /// The source of exclusion patterns.
  enum ExclusionSource: Equatable, Sendable {
    /// One pattern on the command line.
    case pattern([UInt8])
    /// The lines of a file.
    case file([UInt8])
    /// The lines of standard input.
    case standardInput
  }

  /// The source of the sender's code.
  enum CodeSource: Equatable, Sendable {
    /// A person at the terminal.
    case prompt
    /// The first line of standard input.
    case standardInput
    /// The first line of a file.
    case file([UInt8])
    /// A program, which answers questions on standard input.
    case program
  }
}

extension SendOptions.CodeSource {
  /// Whether a person at the terminal types it.
  var isTyped: Bool {
    switch self {
    case .prompt, .program: true
    case .standardInput: Terminal.isTerminal(0)
    case .file: false
    }
  }
}

extension SendOptions {
  /// Parses the words after `peer send`.
  init(_ arguments: Arguments) throws(Failure) {
    (apps, appsInFront) = try arguments.apps()
    for option in ["--idle-limit", "--as"] where apps.isEmpty && arguments.bytes(option) != nil {
      throw .usage("\(option) requires --app", .send)
    }
    idleLimit = try arguments.idleLimit() ?? .standard
    claim = try arguments.claim()
    owners = arguments.has("--owners")
    everything = try EverythingOptions(arguments, apps: apps)
    if everything != nil {
      sources = []
    } else if !apps.isEmpty, arguments.operands.isEmpty {
      guard !owners else { throw .usage("--owners cannot be used with --app alone", .send) }
      sources = []
      try Self.checkNothingIsExcluded(arguments)
    } else {
      sources = try Self.sources(arguments.operands)
    }
    via = try Via(arguments)
    if let to = try Self.destination(arguments) {
      guard via?.isOption != true else {
        throw .usage("--via cannot be used with --to", hint: "With --via, the other device waits at the relay.")
      }
      transfer.target = .host(to)
      via = nil
    } else if via?.isOption == true {
      transfer.target = .relay
    }
    code =
      switch arguments.bytes("--code-file") {
      case nil: .prompt
      case Array("-".utf8): .standardInput
      case let path?: .file(path)
      }
    exclusions = try Self.exclusions(arguments, code)
    isWithoutCaches = arguments.has("--exclude-caches")
    isOnOneFileSystem = arguments.has("--one-file-system")
    transfer.compression =
      try arguments.choice("--compress", by: SenderEngine.CompressionPreference.init(rawValue:)) ?? .auto
    transfer.limit = try arguments.rate("--limit")
    transfer.streams = try arguments.streams()
    transfer.keepsPairing = arguments.has("--remember") || everything != nil
    if everything != nil { transfer.knownDevices = .migrating(isKept: arguments.has("--remember")) }
    transfer.greeting.label = ThisDevice.label(try arguments.label())
    transfer.giveUpAfter = try arguments.patience() ?? transfer.giveUpAfter
    transfer.waitsInLine = !arguments.has("--no-wait")
    report = arguments.bytes("--report")
    json = arguments.has("--json")
    try takeQuestions(arguments)
  }

  /// Reads `--ask`.
  private mutating func takeQuestions(_ arguments: Arguments) throws(Failure) {
    asks = arguments.has("--ask")
    guard asks else { return }
    guard json, everything?.isDry == false else {
      throw .usage(
        "--ask requires --everything and --json", hint: "Without --json, the command asks at the terminal by itself.")
    }
    guard code == .prompt else {
      throw .usage("--ask cannot be used with --code-file", hint: "Remove one of them: the code is asked for.")
    }
    code = .program
  }

  /// The exclusions, in the order in which they were typed.
  private static func exclusions(
    _ arguments: Arguments, _ code: CodeSource
  ) throws(Failure) -> [ExclusionSource] {
    let exclusions: [ExclusionSource] = arguments.settings.compactMap { setting in
      switch setting.option {
      case "--exclude": .pattern(setting.value)
      case "--exclude-from": setting.value == Array("-".utf8) ? .standardInput : .file(setting.value)
      default: nil
      }
    }
    let readers = exclusions.count { $0 == .standardInput } + (code == .standardInput ? 1 : 0)
    guard readers < 2 else {
      throw .usage("standard input cannot be read twice", hint: "Write one of the inputs to a file, and name that.")
    }
    return exclusions
  }

  private static func checkNothingIsExcluded(_ arguments: Arguments) throws(Failure) {
    for option in ["--exclude", "--exclude-from", "--exclude-caches", "--one-file-system"]
    where arguments.isGiven(option) {
      throw .usage(
        "\(option) cannot be used with --app alone", hint: "Remove it: the app's exporter chooses the data.")
    }
  }

  private static func destination(_ arguments: Arguments) throws(Failure) -> HostAndPort? {
    let hint = "'peer receive' on the other device shows the address, as in --to 192.0.2.7."
    guard let to = try arguments.hostAndPort("--to", hint: hint, by: HostAndPort.parse) else { return nil }
    guard to.host != nil else { throw .usage("--to: missing host", hint: hint) }
    guard to.port != 0 else { throw .usage("--to: port 0 is not valid", hint: hint) }
    return to
  }

  /// Checks that every source has a name of its own at the destination.
  private static func sources(_ operands: [[UInt8]]) throws(Failure) -> [[UInt8]] {
    guard !operands.isEmpty else {
      throw .usage("missing argument: PATH", hint: "Name files or folders, as in 'peer send Documents --to HOST'.")
    }
    var typed: [ArraySlice<UInt8>: [UInt8]] = [:]
    for operand in operands {
      let name = try lastName(of: operand)
      // A folder that is named by dots has a name of its own, which is found when it is opened.
      if name == Array(".".utf8)[...] || name == Array("..".utf8)[...] { continue }
      if let other = typed.updateValue(operand, forKey: name) {
        throw .usage(
          "\(VisibleText.quoted(other)) and \(VisibleText.quoted(operand)) would both arrive as \(VisibleText.quoted(name))",
          hint: "Send them separately, each into its own directory.")
      }
    }
    return operands
  }

  private static func lastName(of typed: [UInt8]) throws(Failure) -> ArraySlice<UInt8> {
    guard !typed.isEmpty else {
      throw .usage("one of the paths is an empty string", hint: "A variable in the command line may have no value.")
    }
    guard typed != Array("-".utf8) else {
      throw .usage("standard input cannot be sent", hint: "To send a file named '-', write ./-.")
    }
    guard let name = typed.split(separator: UInt8(ascii: "/")).last else {
      throw .usage(
        "\(VisibleText.quoted(typed)) has no name for the destination", hint: "Name folders in it, as in /home.")
    }
    return name
  }
}

/// Sends files and folders, or an app's data, to a device that waits for them.
func runSend(_ options: SendOptions, _ output: Output) throws(Failure) -> TransferResult {
  // Ctrl-C still ends the program while patterns are typed.
  var selection = try Selection(options)
  let interruption = try Interruption()
  try prepareProcess()
  let home = try Home.forRecords()
  let own = [Via.folderName, ItemList.File.name(.sender), ItemList.File.name(.receiver)].map { Array($0.utf8) }
  selection.leaveOut(recordsIn: home, besides: own, of: options.sources)
  try interruption.watch()
  interruption.tell { _ in output.hurry() }
  let listFile = try ItemList.File(options.report, in: home, .sender)
  // A program has other words for its user than those of commands.
  let notices = options.asks ? [] : selection.warnings + Unfinished.damage(sending: true, TransferStore(home: home))
  for notice in notices { output.handle(.notice(notice)) }
  let everything = try interruption.honoured { () throws(Failure) in
    try options.chosenEverything(home: home, interruption, output)
  }
  var (transfer, tries) = (options.transfer, 1)
  transfer.relay = try options.via?.access(
    home: home, output, asksProgram: options.asks, unless: [interruption.raw])
  transfer.migration = everything?.migration
  output.leaveOut(everything?.leftOut(TransferStore(home: home)) ?? [])
  let use = AppUse(output, asksProgram: options.asks, "is sent")
  let end = MoveEnd()
  while true {
    // Whether notices have been told before: those that come while the sources of another try are
    // made.
    let isAgain = Condition(tries > 1)
    let parts = try interruption.honoured { () throws(Failure) in
      let tell = { @Sendable (event: TransferEvent) in
        if case .notice = event, isAgain.withLock({ $0 }) { return }
        output.handle(event)
      }
      if let everything { return try SendingParts(everything, telling: tell, use) }
      return try SendingParts(
        options, selecting: selection, home: home, until: interruption.early, telling: tell)
    }
    isAgain.withLock { $0 = false }
    output.list(in: listFile)
    // A stop that ends the program early may keep the sources longer than this function.
    defer { parts.end() }
    let left = tries > 1 ? CodeEntry.tries - tries + 1 : nil
    let (source, hasRelay) = (options.code, transfer.relay != nil)
    let place = Condition(transfer.target)
    do throws(Failure) {
      let result = try PeerSender.send(parts.sources, transfer, memory: TransferStore(home: home)) {
        end.note($0)
        output.handle($0)
      } stopping: { stop in
        interruption.tell { kind in
          output.hurry()
          stop(kind)
        }
      } choosing: { (found, end) throws(Failure) in
        try DeviceEntry.choose(among: found, output, unless: [interruption.raw, end])
      } code: { (device, end) throws(Failure) in
        let typed = try CodeEntry.read(source, of: device, output, left: left, unless: [interruption.raw, end])
        place.withLock { place in
          place =
            hasRelay && typed.place != nil
            ? .relay : .host(HostAndPort(host: device.host, port: device.port), label: device.name)
        }
        return typed
      }
      if let everything {
        end.settle(
          parts.sources, isContinued: everything.isContinued, of: everything.migration, in: TransferStore(home: home))
      }
      return result
    } catch {
      // A person may type another code for the same device.
      transfer.target = place.withLock { $0 }
      guard error == AbortReason.codeMismatch.failure, options.code.isTyped, tries < CodeEntry.tries else {
        throw Firewall.find().explaining(error)
      }
      tries += 1
      if !options.asks { output.handle(.notice("the code did not match, and nothing was sent")) }
    }
  }
}

/// The app as the source; a missing home is not created.
///
/// - Parameter edition: the bundle of another edition of the same app, whose extension exports the
///   data.
func appSource(
  _ app: String, _ options: SendOptions, home: [UInt8], edition: AppBundle? = nil,
  until stop: StopSignal = StopSignal(), telling tell: @escaping @Sendable (TransferEvent) -> Void
) throws(Failure) -> AppSource {
  guard let home = try AppHome.ifThere(home) else { throw .notInstalled(app) }
  return try AppSource(
    app: app, edition: edition, home: home, claim: options.claim, idleLimit: options.idleLimit,
    isConfined: options.isConfined, until: stop, observer: HostNews.telling(tell))
}
