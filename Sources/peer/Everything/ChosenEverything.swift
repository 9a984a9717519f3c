import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The entries that `peer send --everything` moves, as its user has chosen them.
struct ChosenEverything {
  /// The command line.
  let options: SendOptions
  private let home: SharedDirectory
  private let homePath: [UInt8]
  /// The path that the home had on its own computer, if it is from another computer.
  private let formerPath: [UInt8]?
  /// PEER_HOME, where the apps and the records are.
  private let records: [UInt8]
  private let known: KnownApps
  /// Clauses for the user about the list.
  let notes: [String]
  /// The entries of the home.
  var inventory: Inventory
  private(set) var choice: PlanChoice
  /// The transfer of an earlier run that is to go on.
  private var continued: TransferRecord?
  /// The origins of its parts, with their positions in its plan.
  private var earlier: [[UInt8]: Int] = [:]
  /// The choice that counts if no earlier run goes on.
  private var fresh: PlanChoice

  /// Lists the home, and applies what the command line says.
  init(_ options: SendOptions, records: [UInt8]) throws(Failure) {
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
    formerPath = everything.home == nil ? nil : EverythingOptions.FormerHome.path(of: homePath)
    known = KnownApps(records: records, isElsewhere: everything.home != nil)
    let found = known.apps(in: home.directory)
    notes = found.notes
    let apps = (everything.home == nil ? Self.apps(in: records) : []) + found.apps
    inventory = try Inventory(
      of: home, apps: apps, records: [records], isElsewhere: everything.home != nil, besides: known.outsideHomes)
    let known = (try? TransferStore(home: records).devices(as: .sender, .migrating(isKept: false))) ?? []
    let moves = known.filter { $0.transfers > 0 && everything.home == nil }
    inventory.lastMove = moves.map { Timestamp(seconds: $0.lastUsed, nanoseconds: 0) }.min()
    choice = PlanChoice(inventory)
    fresh = choice
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

  /// Applies the options. An earlier run goes on with its choice, unless they leave a part of it out.
  /// Returns whether one does.
  mutating func choose(continuing store: TransferStore) throws(Failure) -> Bool {
    fresh = try applyingOptions(to: choice)
    choice = fresh
    guard let former = store.unfinishedMigration(of: migration), let origins = former.sources else { return false }
    let earlier = Dictionary(zip(origins, origins.indices)) { first, _ in first }
    guard let taken = taking(earlier) else { return false }
    let applied = try applyingOptions(to: taken)
    guard inventory.entries.indices.allSatisfy({ taken.contains($0) == applied.contains($0) }) else { return false }
    (choice, continued, self.earlier) = (applied, former, earlier)
    // The record has whole seconds.
    inventory.lastMove = Timestamp(seconds: former.started + 1, nanoseconds: 0)
    return true
  }

  private func applyingOptions(to choice: PlanChoice) throws(Failure) -> PlanChoice {
    var choice = choice
    if let apps = options.everything?.apps, !apps.isEmpty { try choice.take(apps: apps, in: inventory) }
    for name in options.everything?.skipped ?? [] { try choice.skip(name, in: inventory) }
    return choice
  }

  /// The name of the migration among the remembered sources; no path begins like this.
  var migration: [UInt8] { Migration.name(of: homePath) }

  /// The choice of an earlier run, by the origins of its parts; nil if that is not possible any more.
  private func taking(_ earlier: [[UInt8]: Int]) -> PlanChoice? {
    let words = inventory.entries.enumerated().map { index, entry in
      let names = names(entry.app, entry.places)
      return "\(names.allSatisfy { earlier[$0] != nil } ? "+" : "")\(index + 1)"
    }
    var choice = choice
    return (try? choice.apply(words.joined(separator: ","))).map { choice }
  }

  /// The items that stay behind. If an earlier run began the plan, these include the entries that
  /// have changed since, and are in none of its parts or in a part that has arrived.
  func leftOut(_ store: TransferStore) -> [Omission] {
    let parts = parts
    let same = try? store.unfinishedSends(of: [migration] + parts.flatMap { names(of: $0) }).first?.remembered
    guard let former = continued ?? same, former.parts.count == parts.count else { return inventory.leftOut }
    var numbers: [[UInt8]: Int] = [:]
    for (number, part) in parts.enumerated() { for place in part.places { numbers[place.path] = number } }
    let newer = inventory.entries.indices.compactMap { index -> Omission? in
      let entry = inventory.entries[index]
      guard fresh.contains(index), entry.hasChanged else { return nil }
      let number = entry.places.compactMap { numbers[$0.path] }.first
      if number == nil, continued == nil { return nil }
      guard number.map({ former.parts[$0].finished != nil }) ?? true else { return nil }
      return Omission(entry.name, .newer(part: number.map { UInt16($0) }))
    }
    return inventory.leftOut + newer
  }

  /// The parts of the plan. A plan goes on only in its own order, even if other apps are in use by now.
  private var parts: [ChosenPart] {
    let parts = choice.parts(of: inventory)
    return earlier.isEmpty ? parts : parts.map { (order(of: $0), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
  }

  /// The origins of an entry, or of a part.
  private func names(_ app: MovableApp?, _ places: [HomeItem]) -> [[UInt8]] {
    guard let app, places.isEmpty else { return places.map { path(of: $0) } }
    if app.kind == .settings { return [settingsPath(app)] }
    return [AppSource.origin(of: app.identifier)]
  }

  private func names(of part: ChosenPart) -> [[UInt8]] {
    let app: MovableApp? =
      switch part.contents {
      case .app(let app), .settings(let app, _): app
      case .files, .folders, .home: nil
      }
    return names(app, part.places)
  }

  private func order(of part: ChosenPart) -> Int { names(of: part).compactMap { earlier[$0] }.min() ?? .max }

  private func path(of place: HomeItem) -> [UInt8] {
    place.target ?? homePath + [UInt8(ascii: "/")] + place.path
  }

  /// Whether an earlier run goes on.
  var isContinued: Bool { continued != nil }

  /// Lets a program change the choice, by the same words as a person. A move that was to go on begins anew
  /// with another choice.
  mutating func ask(_ questioner: ProgramQuestioner) throws(Failure) {
    let former = choice
    let isContinued = isContinued
    choice = try chosen { (mistake) throws(Failure) in
      try questioner.ask(.choice, ["continues": isContinued], mistake: mistake)
    }
    if choice != former { (continued, earlier) = (nil, [:]) }
  }

  /// Lets the person at the terminal, who has seen the table, change the choice.
  mutating func ask(_ output: Output, unless interruption: CInt) throws(Failure) {
    guard let questioner = Questioner() else { return }
    let former = choice
    choice = try output.hold { () throws(Failure) in
      let choice = try chosen { (mistake) throws(Failure) in
        if let mistake { questioner.write("\(mistake)\n") }
        return try Failure.wrapping(
          questioner.ask("Numbers or names to leave out, or Enter: ", unless: [interruption]))
      }
      if choice != former { questioner.write("\(PlanTable(inventory: inventory, choice: choice).total)\n") }
      return choice
    }
  }

  /// The number of answers with a mistake.
  private static let tries = 3

  /// The choice after an answer, which `ask` gets together with the mistake of the one before.
  private func chosen(by ask: (_ mistake: String?) throws(Failure) -> Terminal.Line) throws(Failure) -> PlanChoice {
    var mistake: String?
    for _ in 0..<Self.tries {
      guard case .line(let bytes) = try ask(mistake) else {
        throw Failure(.interrupted, "interrupted before anything was chosen")
      }
      var choice = choice
      do throws(Failure) {
        try choice.apply(String(decoding: bytes, as: UTF8.self), in: inventory)
        return choice
      } catch {
        mistake = error.correction
      }
    }
    throw .usage("nothing was chosen", hint: "Choose with --skip and --app.")
  }

  /// The sources of what is chosen.
  func sources(
    telling tell: @escaping @Sendable (TransferEvent) -> Void, _ use: AppUse
  ) throws(Failure) -> [any ItemSource] {
    let parts = parts
    guard !parts.isEmpty else {
      throw .usage("nothing is chosen that could move", hint: "'peer send --everything --dry-run' lists what there is.")
    }
    // One part tells the packages, and where the home is: folders are refused least.
    let teller =
      parts.firstIndex { if case .home = $0.contents { true } else { false } }
      ?? parts.firstIndex { if case .app = $0.contents { false } else { true } }
    var sources: [any ItemSource] = []
    var parents: [[UInt8]: SharedDirectory] = [:]
    for (index, part) in parts.enumerated() {
      var label = Part.Label(name: part.name)
      if index == teller {
        label.packages = Array(known.packages.byHand.filter(Part.isPackage).prefix(Limits.packages))
        label.homePaths = homePaths
      }
      switch part.contents {
      case .app(let app): sources.append(try self.app(app, label, telling: tell, use))
      case .settings(let app, let settings): sources.append(try self.settings(app, settings, label))
      case .folders, .home, .files: sources.append(try folders(part, label, sharing: &parents, telling: tell, use))
      }
    }
    return sources
  }

  /// An app with an extension: it holds the app's lock only while it looks or exports.
  private func app(
    _ app: MovableApp, _ label: Part.Label, telling tell: @escaping @Sendable (TransferEvent) -> Void, _ told: AppUse
  ) throws(Failure) -> LabelledSource {
    let records = records
    var use = LabelledSource.Use(name: app.name, waits: waits, told: told) {
      let holder = (try? AppHome.ifThere(records)?.app(app.identifier).holder()) ?? nil
      return holder.map { "process \($0.process)" }
    }
    use.listsAnew = false
    return LabelledSource(
      try SendingParts.part(app.identifier, options, home: records, telling: tell), label, use: use)
  }

  private func folders(
    _ part: ChosenPart, _ label: Part.Label, sharing parents: inout [[UInt8]: SharedDirectory],
    telling tell: @escaping @Sendable (TransferEvent) -> Void, _ told: AppUse
  ) throws(Failure) -> LabelledSource {
    let named = part.places.filter { $0.path.first != UInt8(ascii: "/") }
    let places = try? RootDestinations(
      Dictionary(named.map { (String(decoding: $0.root, as: UTF8.self), $0.path) }) { first, _ in first })
    let source = try FolderSource(
      roots: try part.roots(in: home, sharing: &parents), selecting: part.selection,
      contents: { part.contents($0) }, places: places, walked: part.walked, notice: { tell(.notice($0)) })
    guard case .files(let app, _) = part.contents else { return LabelledSource(source, label, places: places) }
    var label = label
    label.homePaths = homePaths
    return LabelledSource(source, label, places: places, use: use(app, told))
  }

  private static let settings = Array("settings".utf8)

  /// The file with the settings of an app, which is sent.
  private func settingsPath(_ app: MovableApp) -> [UInt8] {
    ((try? Directory.open(records).canonicalPath()) ?? records) + Array("/settings/\(app.identifier)".utf8)
  }

  /// Writes the settings of an app to a file among peer's records, to be sent.
  private func settings(
    _ app: MovableApp, _ settings: DesktopSettings, _ label: Part.Label
  ) throws(Failure) -> LabelledSource {
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
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure(.failed, "the settings of \(app.identifier) cannot be written: \(error)")
    }
  }

  /// The paths of this user's home and its folders. For a home from another computer, these are the
  /// paths that it had there, if they are known.
  private var homePaths: [HomePath] {
    guard let path = options.everything?.home == nil ? homePath : formerPath else { return [] }
    let folders = HomeFolders(in: home.directory, isElsewhere: formerPath != nil).paths(in: path)
      .map { HomePath(key: $0.key, path: $0.path) }
    return ([HomePath(key: OldPaths.homeKey, path: path)] + folders)
      .filter { $0.path.count <= Limits.homePath }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  /// Looks whether an app of files is in use at its turn.
  private func use(_ app: MovableApp, _ told: AppUse) -> LabelledSource.Use {
    let (home, known) = (home, known)
    return LabelledSource.Use(name: app.name, waits: waits, told: told) { known.use(of: app, in: home.directory) }
  }

  /// Whether a part waits until a person has closed its app.
  private var waits: Bool {
    options.everything?.waits == true
      || !options.json && [0, StandardStream.error.rawValue].allSatisfy { Terminal.isTerminal($0) }
  }

  /// Prints the list, and does nothing else.
  static func show(_ options: SendOptions) -> Int32 {
    Answer.give(json: options.json) { (_) throws(Failure) in
      let records = try Home.path()
      var everything = try ChosenEverything(options, records: records)
      _ = try everything.choose(continuing: TransferStore(home: records))
      try everything.inventory.measure(until: StopSignal())
      let table = PlanTable(inventory: everything.inventory, choice: everything.choice)
      let notes = Rendering(standardError: everything.notes.map { "peer: note: \($0)\n" }.joined())
      if options.json { return notes + .event("inventory", table.json) }
      let columns = Terminal.width(StandardStream.output.rawValue) ?? 80
      return notes + Rendering(standardOutput: table.text(columns: columns))
    }
  }
}

extension SendOptions {
  /// How long an address may take to answer.
  private static let answerPatience = Duration.seconds(8)

  /// Fails if nothing answers at the address that the user has named, before anything is listed.
  fileprivate func checkTarget(unless stop: StopSignal) throws(Failure) {
    guard case .host(let place, _) = transfer.target, via == nil else { return }
    do throws(SystemError) {
      let deadline = BootInstant.now() + Self.answerPatience
      for address in try SocketAddress.resolve(host: place.host, port: place.port) where !stop.isSet {
        if (try? answers(address, until: deadline)) == true { return }
      }
    } catch {
      throw Failure(.unreachable, error.description)
    }
    throw Failure(.unreachable, "nothing answers at \(VisibleText.of(place.text))")
  }

  private func answers(_ address: SocketAddress, until deadline: BootInstant) throws(SystemError) -> Bool {
    let socket = try StreamSocket.connect(to: address)
    var poller = try Poller()
    if try poller.wait(for: .writable, on: socket.raw, until: deadline).isEmpty { return false }
    return try socket.finishConnecting()
  }

  /// The entries of a home that move, as its user has chosen them; nil for named paths and apps.
  func chosenEverything(
    home: [UInt8], _ interruption: Interruption, _ output: Output
  ) throws(Failure) -> ChosenEverything? {
    if everything == nil { return nil }
    var chosen = try ChosenEverything(self, records: home)
    for note in chosen.notes { output.handle(.notice(note)) }
    let isContinued = try chosen.choose(continuing: TransferStore(home: home))
    if self.asks {
      let questioner = ProgramQuestioner(output: output, interruptions: [interruption.raw])
      if !isContinued { try checkTarget(unless: interruption.early) }
      try chosen.measure(telling: questioner, until: interruption.early)
      try chosen.ask(questioner)
      return chosen
    }
    let asks = !json && !isContinued && Questioner() != nil
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
