import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// What `peer send --everything` moves, as its user has chosen it.
struct ChosenEverything {
  private let options: SendOptions
  private let home: SharedDirectory
  private let homePath: [UInt8]
  /// Where the home was on its own computer, if it is one from elsewhere.
  private let formerPath: [UInt8]?
  /// PEER_HOME, where the apps and the records are.
  private let records: [UInt8]
  private let known: KnownApps
  /// Clauses for the user about the list.
  let notes: [String]
  private(set) var inventory: Inventory
  private(set) var choice: PlanChoice
  /// The origins of the parts of an earlier run that is to go on, with their positions in its plan.
  private var earlier: [[UInt8]: Int] = [:]

  /// Lists the home, and applies what the command line says.
  init(_ options: SendOptions, records: [UInt8]) throws(TransferFailure) {
    guard let everything = options.everything else { preconditionFailure("the command moves everything") }
    self.options = options
    self.records = records
    let path = try Home.ofUser(unless: everything.home, hint: "Name one with --home.")
    do throws(SystemError) {
      home = SharedDirectory(try Directory.open(path))
      homePath = try home.directory.canonicalPath()
    } catch {
      throw .usage(
        "the home \(VisibleText.quoted(path)) cannot be opened: \(error.words)", hint: "Name a directory with --home.")
    }
    formerPath = everything.home == nil ? nil : FormerHome.path(of: homePath)
    known = KnownApps(records: records, isElsewhere: everything.home != nil)
    let found = known.apps(in: home.directory)
    notes = found.notes
    let apps = (everything.home == nil ? Self.apps(in: records) : []) + found.apps
    inventory = try ArchiveError.mapped(
      Inventory(
        of: home, apps: apps, records: [records], isElsewhere: everything.home != nil, besides: known.outsideHomes)
    ) { TransferFailure($0) }
    let known = (try? TransferStore(home: records).devices(as: .sender, .migrating(isKept: false))) ?? []
    let moves = known.filter { $0.transfers > 0 && everything.home == nil }
    inventory.lastMove = moves.map { Timestamp(seconds: $0.lastUsed, nanoseconds: 0) }.min()
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
    let earlier = Dictionary(zip(origins, origins.indices)) { first, _ in first }
    let words = inventory.entries.enumerated().map { index, entry in
      let names = names(entry.app, entry.places)
      return "\(names.allSatisfy { earlier[$0] != nil } ? "+" : "")\(index + 1)"
    }
    guard (try? choice.apply(words.joined(separator: ","))) != nil else { return false }
    self.earlier = earlier
    return true
  }

  /// The origins of an entry, or of a part.
  private func names(_ app: MovableApp?, _ places: [MigrationApps.Place]) -> [[UInt8]] {
    guard let app, places.isEmpty else { return places.map { path(of: $0) } }
    if app.kind == .settings { return [settingsPath(app)] }
    return [AppSource.origin(of: app.identifier)]
  }

  private func order(of part: ChosenPart) -> Int {
    let app: MovableApp? =
      switch part.contents {
      case .app(let app), .settings(let app, _): app
      case .files, .folders, .home: nil
      }
    return names(app, part.places).compactMap { earlier[$0] }.min() ?? .max
  }

  private func path(of place: MigrationApps.Place) -> [UInt8] {
    place.target ?? homePath + [UInt8(ascii: "/")] + place.path
  }

  /// Measures the entries. At a terminal it shows how far that is, and with `table` the sizes as they
  /// become known: in place, if the terminal has room for the whole table, and else line by line.
  mutating func measure(showing table: Bool, until stop: StopSignal) throws(TransferFailure) {
    let (count, choice) = (inventory.entries.count, choice)
    let isShown = !options.json && Terminal.isTerminal(StandardStream.error.rawValue)
    let columns = Terminal.width(StandardStream.error.rawValue) ?? 80
    func show(_ pieces: ArraySlice<String>, measuring next: Int?) {
      let line = next.map { "Measuring \(min($0, count)) of \(count)" } ?? ""
      StandardStream.error.write("\r\u{1B}[2K\(pieces.joined())\(line)")
    }
    var (shown, next) = (0, BootInstant.now() + Self.pause)
    let rows = table && isShown ? Terminal.height(StandardStream.error.rawValue) ?? 0 : 0
    var whole = WholeTable(choice: choice, columns: columns, rows: rows)
    if isShown, !whole.draw(inventory, measuring: 1) { show([], measuring: 1) }
    do throws(ArchiveError) {
      try inventory.measure(until: stop) { index, inventory in
        let began = BootInstant.now()
        guard isShown, began >= next else { return }
        // A long table takes time to make and to write, which people do not see.
        defer {
          let ended = BootInstant.now()
          next = ended + max(Self.pause, began.duration(to: ended))
        }
        if whole.draw(inventory, measuring: index + 2) { return }
        // Apps that make their data themselves are not measured.
        let all = table ? PlanTable(inventory: inventory, choice: choice).texts(columns: columns) : []
        show(table ? all[shown...index] : [], measuring: index + 2)
        shown = index + 1
      }
    } catch {
      if isShown { StandardStream.error.write("\r\u{1B}[2K") }
      throw error.code == .stopped ? TransferFailure(.interrupted, "interrupted") : TransferFailure(error)
    }
    if whole.draw(inventory, measuring: nil) { return }
    let rest = table ? PlanTable(inventory: inventory, choice: choice).texts(columns: columns)[shown...] : []
    if isShown {
      show(rest, measuring: nil)
    } else if table {
      (try? Questioner())?.write(rest.joined())
    }
  }

  /// Measures the entries, and tells a program what there is and the size of each as soon as it is
  /// known.
  mutating func measure(telling questioner: ProgramQuestioner, until stop: StopSignal) throws(TransferFailure) {
    questioner.tell("inventory", PlanTable(inventory: inventory, choice: choice).json)
    do throws(ArchiveError) {
      try inventory.measure(until: stop) { index, inventory in
        guard let size = inventory.entries[index].size?.tally else { return }
        questioner.tell(
          "measured",
          [
            "number": index + 1, "items": size.items, "bytes": size.bytes,
            "crossingBytes": IfGiven(inventory.entries[index].crossing),
          ])
      }
    } catch {
      throw error.code == .stopped ? TransferFailure(.interrupted, "interrupted") : TransferFailure(error)
    }
  }

  /// Lets a program change the choice, by the same words as a person.
  mutating func ask(_ questioner: ProgramQuestioner) throws(TransferFailure) {
    var mistake: String?
    for _ in 0..<Self.tries {
      let line = try questioner.ask(.choice, [:], mistake: mistake)
      guard case .line(let bytes) = line else {
        throw TransferFailure(.interrupted, "interrupted before anything was chosen")
      }
      do throws(ChoiceError) {
        return try choice.apply(String(decoding: bytes, as: UTF8.self))
      } catch {
        mistake = "\(error.description). \(error.hint)"
      }
    }
    throw .usage("nothing was chosen", hint: "Choose with --skip and --app.")
  }

  /// The shortest pause between two looks at the sizes.
  private static let pause = Duration.milliseconds(100)
  /// The number of answers with a mistake.
  private static let tries = 3

  /// Lets the person at the terminal, who has seen the table, change the choice.
  mutating func ask(_ output: Output, unless interruption: CInt) throws(TransferFailure) {
    guard let questioner = try? Questioner() else { return }
    var choice = choice
    try output.hold { () throws(TransferFailure) in
      for _ in 0..<Self.tries {
        let line = try SystemError.mapped(questioner.ask("Numbers to leave out, or Enter: ", unless: [interruption])) {
          TransferFailure(.failed, $0.description)
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
    var parts = choice.parts(of: inventory)
    guard !parts.isEmpty else {
      throw .usage("nothing is chosen that could move", hint: "'peer send --everything --dry-run' lists what there is.")
    }
    // A plan goes on only in its own order, also if other apps are in use by now.
    if !earlier.isEmpty {
      parts = parts.map { (order(of: $0), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
    // One part tells the packages: folders are refused least.
    let teller =
      parts.firstIndex { if case .home = $0.contents { true } else { false } }
      ?? parts.firstIndex { if case .app = $0.contents { false } else { true } }
    var sources: [any ItemSource] = []
    var parents: [[UInt8]: SharedDirectory] = [:]
    for (index, part) in parts.enumerated() {
      var label = Part.Label(name: part.name)
      if index == teller {
        label.packages = Array(known.packages.byHand.filter(Part.isPackage).prefix(Limits.packages))
      }
      switch part.contents {
      case .app(let app): sources.append(try self.app(app, label, telling: tell))
      case .settings(let app, let settings): sources.append(try self.settings(app, settings, label))
      case .folders, .home, .files: sources.append(try folders(part, label, sharing: &parents, telling: tell))
      }
    }
    return sources
  }

  /// An app with an extension: it holds the app's lock only while it looks or exports.
  private func app(
    _ app: MovableApp, _ label: Part.Label, telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) -> LabelledSource {
    let records = records
    var use = LabelledSource.Use(name: app.name, waits: waits) {
      let holder = (try? AppHome.ifThere(records)?.app(app.identifier).holder()) ?? nil
      return holder.map { "process \($0.process)" }
    } tell: {
      tell(.notice($0))
    }
    use.listsAnew = false
    return LabelledSource(
      try SendingParts.part(app.identifier, options, home: records, telling: tell), label, use: use)
  }

  private func folders(
    _ part: ChosenPart, _ label: Part.Label, sharing parents: inout [[UInt8]: SharedDirectory],
    telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(TransferFailure) -> LabelledSource {
    do throws(ArchiveError) {
      let named = part.places.filter { $0.path.first != UInt8(ascii: "/") }
      let places = try? RootPlaces(
        Dictionary(named.map { (String(decoding: $0.root, as: UTF8.self), $0.path) }) { first, _ in first })
      let source = try FolderSource(
        roots: try part.roots(in: home, sharing: &parents), selecting: part.selection,
        contents: { roots in
          switch part.contents {
          case .home: .role(Part.home, roots)
          case .files(let app, _): .files(of: app.identifier, roots)
          case .folders, .app, .settings: .folders(roots)
          }
        }, places: places, walked: part.walked, notice: { tell(.notice($0)) })
      guard case .files(let app, _) = part.contents else { return LabelledSource(source, label, places: places) }
      var label = label
      label.homePaths = homePaths
      return LabelledSource(source, label, places: places, use: use(app, telling: tell))
    } catch {
      throw TransferFailure(error)
    }
  }

  private static let settings = Array("settings".utf8)

  /// The file with the settings of an app, which is sent.
  private func settingsPath(_ app: MovableApp) -> [UInt8] {
    ((try? Directory.open(records).canonicalPath()) ?? records) + Array("/settings/\(app.identifier)".utf8)
  }

  /// Writes the settings of an app to a file among peer's records, to be sent.
  private func settings(
    _ app: MovableApp, _ settings: DesktopSettings, _ label: Part.Label
  ) throws(TransferFailure) -> LabelledSource {
    do {
      let content = settings.dump
      let folder = try Directory.openOrMake(records + [UInt8(ascii: "/")] + Self.settings, mode: 0o700)
      let name = Array(app.identifier.utf8)
      // The same content in the same file: a transfer continues with it.
      if (try? folder.openChild(name).readAll(limit: DesktopSettings.longest)) != content {
        try folder.replaceFile(name, with: content)
      }
      let root = try SourceRoot(
        name, beneath: SharedDirectory(folder), as: Array(AppCatalogue.settingsKey.utf8))
      let source = try FolderSource(
        roots: [root], selecting: Selection(), contents: { .files(of: app.identifier, $0) })
      var label = label
      label.homePaths = homePaths
      return LabelledSource(source, label)
    } catch let error as ArchiveError {
      throw TransferFailure(error)
    } catch {
      throw TransferFailure(.failed, "the settings of \(app.identifier) cannot be written: \(error)")
    }
  }

  /// Where this user's home and its folders are. Files of a home from elsewhere name the place that it
  /// had there, if that is known.
  private var homePaths: [HomePath] {
    guard let path = options.everything?.home == nil ? homePath : formerPath else { return [] }
    let folders = HomeFolders(in: home.directory, isElsewhere: formerPath != nil).paths(in: path)
      .map { HomePath(key: $0.key, path: $0.path) }
    return ([HomePath(key: OldPaths.homeKey, path: path)] + folders)
      .filter { $0.path.count <= Limits.homePath }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  /// Looks whether an app of files is in use at its turn.
  private func use(
    _ app: MovableApp, telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) -> LabelledSource.Use {
    let (home, known) = (home, known)
    return LabelledSource.Use(name: app.name, waits: waits) {
      known.use(of: app, in: home.directory)
    } tell: {
      tell(.notice($0))
    }
  }

  /// Whether a part waits until a person has closed its app.
  private var waits: Bool {
    options.everything?.waits == true
      || !options.json && [0, StandardStream.error.rawValue].allSatisfy { Terminal.isTerminal($0) }
  }

  /// The list, and nothing else.
  static func show(_ options: SendOptions) -> Int32 {
    Answer.give(json: options.json) { () throws(TransferFailure) in
      let records = try Home.path()
      var everything = try ChosenEverything(options, records: records)
      _ = try everything.choose(continuing: TransferStore(home: records))
      try ArchiveError.mapped(everything.inventory.measure(until: StopSignal())) { TransferFailure($0) }
      let table = PlanTable(inventory: everything.inventory, choice: everything.choice)
      let notes = Rendering(standardError: everything.notes.map { "peer: note: \($0)\n" }.joined())
      if options.json { return notes + .event("inventory", table.json) }
      let columns = Terminal.width(StandardStream.output.rawValue) ?? 80
      return notes + Rendering(standardOutput: table.text(columns: columns))
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
    if self.asks {
      let questioner = ProgramQuestioner(output: output, interruptions: [interruption.raw])
      try chosen.measure(telling: questioner, until: interruption.early)
      if !isContinued { try chosen.ask(questioner) }
      return chosen
    }
    let asks = !json && !isContinued && (try? Questioner()) != nil
    try chosen.measure(showing: asks, until: interruption.early)
    if asks { try chosen.ask(output, unless: interruption.raw) }
    return chosen
  }
}
