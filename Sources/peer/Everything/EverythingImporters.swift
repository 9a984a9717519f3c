import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The importers of `peer receive --everything`: folders arrive in a directory, usually the home,
/// and each installed app takes its data.
final class EverythingImporters: Importers {
  /// The action for names that are taken.
  static let existing = Existing.merge

  /// What the user of this device allows.
  struct Permissions: Equatable, Sendable {
    var secrets = false
    /// Programs that run by themselves.
    var running = false

    static let all = Permissions(secrets: true, running: true)

    /// Whether they cover what a part is.
    func allow(_ flags: Part.Flags) -> Bool {
      (secrets || !flags.contains(.secret)) && (running || !flags.contains(.runsByItself))
    }
  }

  let area: StagingArea
  private let folders: FolderImporter
  /// Takes the parts whose roots are keys.
  private let keyed: KeyedArrivals
  /// The same for a part that was judged before: by now, its own data may be there.
  private let begun: KeyedArrivals
  private let apps: AppHome
  private let permissions: Permissions
  private let appOptions: AppImporter.Options
  private let stop: StopSignal
  private let observer: @Sendable (HostNews) -> Void
  private let traces = Mutex(Traces())

  /// What leads into the old home.
  private struct Traces: Sendable {
    /// Where that is: one part of a plan tells it for all.
    var homePaths: [HomePath] = []
    /// By the names of the parts, each of which may be imported again.
    var found: [String: HomeTraces] = [:]
  }

  /// Takes the folders into the directory of `folders`, which is a home, and the data of apps with
  /// extensions into `apps`.
  ///
  /// - Parameter stop: ends the start of an app's extension.
  init(
    folders: FolderImporter, home: SharedDirectory, knowing known: KnownApps, apps: AppHome,
    store: TransferStore? = nil, options: AppImporter.Options, allowing permissions: Permissions,
    settings: SettingsLoader? = nil,
    until stop: StopSignal,
    observer: @escaping @Sendable (HostNews) -> Void
  ) {
    area = folders.area
    self.folders = folders
    let asides = Asides()
    keyed = KeyedArrivals(
      area: folders.area, home: home, known: known,
      replacesApps: options.replaces, store: store, settings: settings, asides: asides)
    begun = KeyedArrivals(
      area: folders.area, home: home, known: known, replacesApps: true, settings: settings, asides: asides
    ) { observer(.notice($0)) }
    self.apps = apps
    self.permissions = permissions
    self.stop = stop
    self.observer = observer
    appOptions = options
  }

  var request: AppRequest? { nil }
  var graceAtTheEnd: Double { AppImporter.grace }

  func places(of part: Part) -> RootPlaces? { keyed.places(of: part) }

  func judge(of part: Part) throws(ArchiveError) -> any PartJudge {
    try checkPermission(for: part)
    if !part.homePaths.isEmpty { traces.withLock { $0.homePaths = part.homePaths } }
    switch part.contents {
    case .folders: return folders
    case .app(let app): return try AppCandidate(app, in: apps, options: appOptions)
    case .role, .files: return try taken(try keyed.importer(of: part), part)
    case .unknown: throw ArchiveError(notTaken: part)
    }
  }

  private func taken(_ importer: FolderImporter?, _ part: Part) throws(ArchiveError) -> FolderImporter {
    guard let importer else { throw ArchiveError(notTaken: part) }
    return importer
  }

  /// What a part is for this device, which never trusts that a flag is missing.
  func flags(of part: Part) -> Part.Flags { keyed.flags(of: part) }

  /// What the user of this device does after a migration.
  func nextSteps(after migration: MigrationRecord) -> [String] {
    let (told, found) = traces.withLock { ($0.homePaths, $0.found) }
    let home = keyed.oldPaths(told)?.home ?? []
    let traces = found.sorted { $0.key < $1.key }.map(\.value)
    return keyed.nextSteps(after: migration) + traces.flatMap { $0.sentences(home) }
  }

  /// The same importer, which notes what leads into the old home.
  private func tracing(_ importer: FolderImporter, _ part: Part) -> FolderImporter {
    let places = places(of: part)
    return importer.looking { [self] files in
      guard let paths = keyed.oldPaths(traces.withLock { $0.homePaths }) else { return }
      var found = HomeTraces()
      found.look(at: files, for: paths) { places?.place(of: $0.bytes) ?? $0.bytes }
      traces.withLock { $0.found[part.name] = found }
    }
  }

  func importer(of part: Part) throws(ArchiveError) -> any Importer {
    switch part.contents {
    case .folders: return tracing(folders, part)
    case .role: return tracing(try taken(try begun.importer(of: part), part), part)
    case .app(let app):
      do throws(HostError) {
        return try AppImporter(
          app: try apps.appAccepting(app).identifier, home: apps, options: appOptions, until: stop, observer: observer)
      } catch {
        throw ArchiveError(ofPart: error)
      }
    case .files: return try taken(try begun.importer(of: part), part)
    case .unknown: throw ArchiveError(notTaken: part)
    }
  }

  private func checkPermission(for part: Part) throws(ArchiveError) {
    let flags = flags(of: part)
    if permissions.allow(flags) { return }
    let name = VisibleText.of(part.name)
    if flags.contains(.secret), !permissions.secrets {
      throw ArchiveError(
        .notAllowed, "\(name) has secrets, and this device's user has not allowed them",
        hint: "Start 'peer receive' with --take-secrets, or at a terminal, where it asks.")
    }
    throw ArchiveError(
      .notAllowed, "\(name) can run commands by itself, and this device's user has not allowed that",
      hint: "Start 'peer receive' with --take-running, or at a terminal, where it asks.")
  }
}
