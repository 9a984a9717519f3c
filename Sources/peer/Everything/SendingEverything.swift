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
  /// Another home on this device; nil for that of this user.
  var home: [UInt8]?
  /// The names of entries that do not move.
  var skipped: [[UInt8]] = []
  /// Of all apps only these, in this order; empty for those that move unless the user says
  /// otherwise.
  var apps: [String] = []
  /// Whether the plan is only shown.
  var isDry = false
}

/// What `peer send --everything` moves, as its user has chosen it.
struct ChosenEverything {
  private let options: SendOptions
  private let home: SharedDirectory
  private let homePath: [UInt8]
  /// PEER_HOME, where the apps and the records are.
  private let records: [UInt8]
  /// Clauses for the user about the list.
  let notes: [String]
  private(set) var inventory: Inventory
  private(set) var choice: PlanChoice
  /// The origins of the parts of an earlier run that is to go on, in their order.
  private var earlier: [[UInt8]] = []

  /// Lists the home, and applies what the command line says.
  init(_ options: SendOptions, records: [UInt8]) throws(TransferFailure) {
    guard let everything = options.everything else { preconditionFailure("the command moves everything") }
    self.options = options
    self.records = records
    guard let path = everything.home ?? Environment.bytes("HOME") ?? CurrentProcess.homeDirectory, !path.isEmpty else {
      throw .usage("you have no home directory", hint: "Name one with --home.")
    }
    do throws(SystemError) {
      home = SharedDirectory(try Directory.open(path))
      homePath = try home.directory.canonicalPath()
    } catch {
      throw .usage(
        "the home \(VisibleText.quoted(path)) cannot be opened: \(error.words)", hint: "Name a directory with --home.")
    }
    let known = KnownApps(records: records, isElsewhere: everything.home != nil).apps(in: home.directory)
    notes = known.notes
    let apps = (everything.home == nil ? Self.apps(in: records) : []) + known.apps
    do throws(ArchiveError) {
      inventory = try Inventory(of: home, apps: apps, records: [records])
    } catch {
      throw TransferFailure(error)
    }
    choice = PlanChoice(inventory)
  }

  /// The installed apps that can be migrated.
  private static func apps(in records: [UInt8]) -> [MovableApp] {
    let installed = (try? AppHome.glance(at: records).apps) ?? []
    return installed.compactMap { app in
      guard (try? app.bundle.extensionToMigrate()) != nil else { return nil }
      let holder = (try? app.holder()) ?? nil
      return MovableApp(
        .withExtension, identifier: app.identifier, name: app.identifier,
        inUse: holder.map { "process \($0.process)" })
    }
  }

  /// Applies the options, after the choice of an earlier run that is to go on. Returns whether there
  /// was one.
  mutating func choose(continuing store: TransferStore) throws(TransferFailure) -> Bool {
    let isContinued = take(unfinished(in: store))
    do throws(ChoiceError) {
      if let apps = options.everything?.apps, !apps.isEmpty { try choice.take(apps: apps, in: inventory) }
      for name in options.everything?.skipped ?? [] { try choice.skip(name, in: inventory) }
    } catch {
      throw .usage(error.description, hint: error.hint)
    }
    return isContinued
  }

  /// The origins of the newest unfinished migration of this home.
  private func unfinished(in store: TransferStore) -> [[UInt8]]? {
    let transfers = (try? store.list())?.transfers ?? []
    return transfers.first { !$0.remembered.isDone && $0.remembered.sources?.first == migration }?.remembered.sources
  }

  /// The name of the migration among the remembered sources; no path begins like this.
  var migration: [UInt8] { Migration.name(of: homePath) }

  private mutating func take(_ origins: [[UInt8]]?) -> Bool {
    guard let origins else { return false }
    earlier = origins
    let words = inventory.entries.enumerated().map { index, entry in
      let isExported = entry.app?.kind == .withExtension
      let names = isExported ? [AppSource.origin(of: entry.app?.identifier ?? "")] : entry.places.map { path(of: $0) }
      return "\(names.allSatisfy(origins.contains) ? "+" : "")\(index + 1)"
    }
    return (try? choice.apply(words.joined(separator: ","))) != nil
  }

  private func path(of place: MigrationApps.Place) -> [UInt8] { homePath + [UInt8(ascii: "/")] + place.path }

  /// Measures the entries. At a terminal it shows how far that is, and with `table` each line of the
  /// table as soon as its size is known.
  mutating func measure(showing table: Bool, until stop: StopSignal) throws(TransferFailure) {
    let (count, choice) = (inventory.entries.count, choice)
    let isShown = !options.json && Terminal.isTerminal(StandardStream.error.rawValue)
    let columns = Terminal.width(StandardStream.error.rawValue) ?? 80
    func show(_ pieces: ArraySlice<String>, measuring next: Int?) {
      let line = next.map { "Measuring \(min($0, count)) of \(count)" } ?? ""
      StandardStream.error.write("\r\u{1B}[2K\(pieces.joined())\(line)")
    }
    var (shown, time) = (0, BootInstant.now())
    if isShown { show([], measuring: 1) }
    do throws(ArchiveError) {
      try inventory.measure(until: stop) { index, inventory in
        // A long table takes time to write, which people do not see.
        let now = BootInstant.now()
        guard isShown, now.seconds(since: time) >= Self.pause else { return }
        time = now
        // Apps that make their data themselves are not measured.
        show(table ? PlanTable(inventory, choice).texts(columns: columns)[shown...index] : [], measuring: index + 2)
        shown = index + 1
      }
    } catch {
      if isShown { show([], measuring: nil) }
      throw error.code == .stopped ? TransferFailure(.interrupted, "interrupted") : TransferFailure(error)
    }
    let rest = table ? PlanTable(inventory, choice).texts(columns: columns)[shown...] : []
    if isShown {
      show(rest, measuring: nil)
    } else if table {
      (try? Questioner())?.write(rest.joined())
    }
  }

  /// The pause between two looks at the sizes, in seconds.
  private static let pause = 0.1
  /// The number of answers with a mistake.
  private static let tries = 3

  /// Lets the person at the terminal, who has seen the table, change the choice.
  mutating func ask(_ output: Output, unless interruption: CInt) throws(TransferFailure) {
    guard let questioner = try? Questioner() else { return }
    var choice = choice
    try output.hold { () throws(TransferFailure) in
      for _ in 0..<Self.tries {
        let line: Terminal.Line
        do throws(SystemError) {
          line = try questioner.ask("Numbers to leave out, or Enter: ", unless: [interruption])
        } catch {
          throw TransferFailure(.failed, error.description)
        }
        guard case .line(let bytes) = line else {
          throw TransferFailure(.interrupted, "interrupted before anything was chosen")
        }
        do throws(ChoiceError) {
          try choice.apply(String(decoding: bytes, as: UTF8.self))
          return
        } catch {
          questioner.write("\(error.description). \(error.hint)\n")
        }
      }
      throw .usage("nothing was chosen", hint: "Choose with --skip and --app.")
    }
    self.choice = choice
  }

  /// The sources of what is chosen.
  func sources(telling tell: @escaping @Sendable (TransferEvent) -> Void) throws(TransferFailure) -> [any ItemSource] {
    let parts = ordered(choice.parts(of: inventory))
    guard !parts.isEmpty else {
      throw .usage("nothing is chosen that could move", hint: "'peer send --everything --dry-run' lists what there is.")
    }
    var sources: [any ItemSource] = []
    for part in parts {
      switch part.contents {
      case .app(let app):
        sources.append(try SendingParts.part(app.identifier, options, home: records, telling: tell))
      case .folders, .home, .files: sources.append(try folders(part, telling: tell))
      }
    }
    return sources
  }

  /// The parts in their order: apps that are in use now come last, so that their users have the time of
  /// the other parts to close them. An earlier run that goes on keeps its order.
  private func ordered(_ parts: [ChosenPart]) -> [ChosenPart] {
    guard earlier.isEmpty else {
      let places = parts.map { part in earlier.firstIndex(of: origin(of: part)) ?? .max }
      return zip(parts, places).enumerated()
        .sorted { ($0.element.1, $0.offset) < ($1.element.1, $1.offset) }.map(\.element.0)
    }
    return parts.filter { !$0.isInUse } + parts.filter(\.isInUse)
  }

  /// The first origin of a part.
  private func origin(of part: ChosenPart) -> [UInt8] {
    if case .app(let app) = part.contents { return AppSource.origin(of: app.identifier) }
    return part.places.first.map { path(of: $0) } ?? []
  }

  private func folders(
    _ part: ChosenPart, telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) -> LabelledSource {
    do throws(ArchiveError) {
      let source = try FolderSource(
        roots: try part.roots(in: home), selecting: part.selection,
        contents: { roots in
          switch part.contents {
          case .home: .role(Part.home, roots)
          case .files(let app, _): .files(of: app.identifier, roots)
          case .folders, .app: .folders(roots)
          }
        }, notice: { tell(.notice($0)) })
      return LabelledSource(source, name: part.name, flags: part.flags, obstacle: obstacle(part))
    } catch {
      throw TransferFailure(error)
    }
  }

  /// Looks whether an app of files is in use at its turn.
  private func obstacle(_ part: ChosenPart) -> @Sendable () -> ArchiveError? {
    guard case .files(let app, _) = part.contents else { return { nil } }
    let (home, records, isElsewhere) = (home, records, options.everything?.home != nil)
    return {
      let now = KnownApps(records: records, isElsewhere: isElsewhere).apps(in: home.directory).apps
      guard let user = now.first(where: { $0.identifier == app.identifier })?.inUse else { return nil }
      return ArchiveError(
        .appInUse, "\(VisibleText.of(app.name)) is in use by \(VisibleText.of(user))",
        hint: "Close it, and run both commands again.")
    }
  }

  /// The list, and nothing else.
  static func show(_ options: SendOptions) -> Int32 {
    Answer.give(json: options.json) { () throws(TransferFailure) in
      let records = try Home.path()
      var everything = try ChosenEverything(options, records: records)
      _ = try everything.choose(continuing: TransferStore(home: records))
      do throws(ArchiveError) {
        try everything.inventory.measure(until: StopSignal())
      } catch {
        throw TransferFailure(error)
      }
      let table = PlanTable(everything.inventory, everything.choice)
      if options.json { return .event("inventory", table.json) }
      return Rendering(standardOutput: table.text(columns: Terminal.width(StandardStream.output.rawValue) ?? 80))
    }
  }
}

extension SendOptions {
  /// What moves of a home, as its user has chosen it; nil for named paths and apps.
  func chosenEverything(
    home: [UInt8], _ interruption: Interruption, _ output: Output
  ) throws(TransferFailure) -> ChosenEverything? {
    if everything == nil { return nil }
    var chosen = try ChosenEverything(self, records: home)
    for note in chosen.notes { output.handle(.notice(note)) }
    let isContinued = try chosen.choose(continuing: TransferStore(home: home))
    let asks = !json && !isContinued && (try? Questioner()) != nil
    try chosen.measure(showing: asks, until: interruption.early)
    if asks { try chosen.ask(output, unless: interruption.raw) }
    return chosen
  }
}

/// The migration of a home, as the records of transfers name it.
enum Migration {
  private static let mark = Array("everything:".utf8)

  /// The name of the migration of a home.
  static func name(of home: [UInt8]) -> [UInt8] { mark + home }

  /// The home whose migration has this name; nil for any other source.
  static func home(ofName name: [UInt8]) -> [UInt8]? {
    name.starts(with: mark) ? Array(name.dropFirst(mark.count)) : nil
  }
}

/// Folders under the name and with the flags of their part.
final class LabelledSource: ItemSource {
  private let source: FolderSource
  private let name: String
  private let flags: Part.Flags
  /// The reason why it cannot be exported now, if there is one.
  private let obstacle: @Sendable () -> ArchiveError?

  init(
    _ source: FolderSource, name: String, flags: Part.Flags, obstacle: @escaping @Sendable () -> ArchiveError?
  ) {
    self.source = source
    self.name = name
    self.flags = flags
    self.obstacle = obstacle
  }

  func origin() throws(ArchiveError) -> [[UInt8]] { try source.origin() }

  func prepare(until stop: StopSignal) throws(ArchiveError) -> SourceSummary {
    var summary = try source.prepare(until: stop)
    summary.name = name
    summary.flags = flags
    return summary
  }

  func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(ArchiveError) -> ExportResult {
    if let obstacle = obstacle() { throw obstacle }
    return try source.export(settings, for: request, begin: begin)
  }

  func withholding(for traits: DestinationTraits) -> Withholding { source.withholding(for: traits) }
  var isRotating: Bool { source.isRotating }
}

extension ChosenPart {
  /// Whether it is the data of an app that is in use.
  fileprivate var isInUse: Bool {
    switch contents {
    case .app(let app), .files(let app, _): app.inUse != nil
    case .folders, .home: false
    }
  }
}
