import MigrationApps
import MigrationArchive
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The importers of the parts whose roots are keys: folders of a home, and apps of files. This device
/// alone knows where a key lies and what an app's data is.
struct KeyedArrivals {
  let area: StagingArea
  /// The directory of the staging area.
  let home: SharedDirectory
  /// The classes of items there, by their places.
  var rule = ArrivalRule()
  let known: KnownApps
  /// Whether the existing data of apps is set aside.
  var replacesApps: Bool
  /// The records of earlier arrivals.
  var store: TransferStore?
  var settings: SettingsLoader?
  /// The old data that the imports of this run have set aside.
  var asides = Asides()
  /// Tells a person to close an app, whose data then waits; without it, the part of such an app is refused.
  var use: AppUse?
  /// Ends that wait.
  var stop = StopSignal()
  /// Gets clauses for the user.
  var tell: @Sendable (String) -> Void = { _ in }

  /// The importer of a part whose roots are keys.
  func importer(of part: Part) throws(Failure) -> FolderImporter {
    switch part.contents {
    case .role(HomeFolder.role, _):
      let places = HomeFolders.receiving(in: home.directory).map
      return FolderImporter(area, existing: .merge, places: try RootDestinations(places))
    case .files(let app, let roots):
      guard let arrival = arrival(of: app) else {
        throw Failure(
          .notInstalled, "this device has no description of \(VisibleText.of(part.name))",
          hint: "Install the current peer here, or describe the app, and run both commands again.")
      }
      try check(arrival, roots, of: part)
      let data = ArrivingData(arrival, paths: oldPaths(part.homePaths), tell: tell)
      return FolderImporter(
        area, existing: .setAside, places: try RootDestinations(arrival.places),
        preparing: { (files) throws(Failure) in
          try wait(for: arrival, app)
          try data.prepare(files)
        },
        completing: loading(app, arrival), settingAside: { asides.note($0, of: app, tell) })
    case .role, .folders, .app, .unknown: throw Failure(notTaken: part)
    }
  }

  /// Waits until a person has closed the app.
  private func wait(for arrival: AppDestination, _ app: String) throws(Failure) {
    guard let use, let user = known.use(ofArriving: app, in: home.directory) else { return }
    do throws(SystemError) {
      try use.wait(for: arrival.name, user, unless: stop) { known.use(ofArriving: app, in: home.directory) }
    } catch {
      throw inUse(arrival, user)
    }
  }

  func inUse(_ arrival: AppDestination, _ user: String) -> Failure {
    Failure(
      .appInUse, "\(VisibleText.of(arrival.name)) is in use here: \(VisibleText.of(user))",
      hint: DataHint.appInUse.text)
  }

  /// The places of a part's roots here.
  func places(of part: Part) -> RootDestinations? {
    switch part.contents {
    case .role(HomeFolder.role, _): try? RootDestinations(HomeFolders.receiving(in: home.directory).map)
    case .files(let app, _): arrival(of: app).flatMap { try? RootDestinations($0.places) }
    case .role, .folders, .app, .unknown: nil
    }
  }

  /// What is still to be done with the settings of an app when they are in their place.
  private func loading(_ app: String, _ arrival: AppDestination) -> (@Sendable () throws(Failure) -> Void)? {
    guard !arrival.settings.isEmpty, let settings else { return nil }
    return { () throws(Failure) in try settings.load(app) }
  }

  /// The paths of the sender's home, with the paths here that replace them.
  func oldPaths(_ told: [HomePath]) -> OldPaths? {
    guard let home = try? self.home.directory.canonicalPath() else { return nil }
    return OldPaths(told, home: home, folders: HomeFolders.receiving(in: self.home.directory).map)
  }

  /// The name, classes and places of a part, by this device's own knowledge; nil for an unknown app or
  /// another kind of part. An app's data has its description's class, or a graver class of its places.
  func arrival(of part: Part) -> PartArrival? {
    guard let places = places(of: part), let rule = rule(for: part) else { return nil }
    let found = rule.arrival(of: part.roots, at: places)
    guard case .files(let app, _) = part.contents, let arrival = arrival(of: app) else { return found }
    return PartArrival(name: VisibleText.of(arrival.name), roots: found.roots, places: found.places)
  }

  /// The permit for the items of a part; nil if all items are taken.
  func permit(for part: Part, taking taken: ArrivalClasses) -> ArrivalPermit? {
    (rule(for: part) ?? rule).permit(at: places(of: part), taking: taken)
  }

  private func rule(for part: Part) -> ArrivalRule? {
    guard case .files(let app, _) = part.contents else { return rule }
    return arrival(of: app).map { rule.atLeast($0.kind) }
  }

  /// Old data that the import of a part has set aside.
  func setAside(by part: Part) -> [Asides.Aside] {
    guard case .files(let app, _) = part.contents else { return [] }
    return asides.of(app)
  }

  /// The program that must be installed so that the data of a part is of use.
  func missing(for part: Part) -> AppDestination.Missing? {
    guard case .files(let app, _) = part.contents else { return nil }
    return arrival(of: app)?.missing
  }

  /// The next steps of the user after a migration.
  func nextSteps(after migration: PartEnds) -> [NextStep] {
    let (parts, named) = (migration.arrived, migration.packages)
    guard let place = try? home.directory.canonicalPath(), !parts.isEmpty else { return [] }
    let hasLabels = (try? Directory.status(of: "/sys/fs/selinux/enforce")) != nil
    let steps = NextSteps(
      missing: parts.compactMap { missing(for: $0) },
      others: named.isEmpty ? [] : named.subtracting(known.packages.names),
      aside: parts.flatMap { setAside(by: $0) }.map { $0.absolute(in: place) },
      outside: parts.contains { $0.isOfHome } ? outsideHome : [], unlabelled: hasLabels ? place : nil)
    return steps.steps(known.offered)
  }

  /// The folders of the user whose configured places are outside of the home.
  private var outsideHome: [(place: [UInt8], configured: [UInt8])] {
    let folders = HomeFolders.receiving(in: home.directory)
    return folders.targets.compactMap { folder, target in folders.places[folder].map { ($0, target) } }
      .sorted { $0.place.lexicographicallyPrecedes($1.place) }
  }

  private func arrival(of app: String) -> AppDestination? {
    known.catalogue.destination(of: app, in: home.directory, running: known.running)
  }
}

extension Part {
  /// Whether its roots are folders of the user, by their keys.
  fileprivate var isOfHome: Bool { if case .role(HomeFolder.role, _) = contents { true } else { false } }
}
