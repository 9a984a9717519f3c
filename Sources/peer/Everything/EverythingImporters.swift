import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The importers of `peer receive --everything`: folders arrive in a directory, usually the home,
/// and each installed app takes its data.
final class EverythingImporters: Importers {
  /// The action for names that are taken.
  static let existing = Existing.merge

  let area: StagingArea
  private let folders: FolderImporter
  /// Takes the parts whose roots are keys.
  private let keyed: KeyedArrivals
  /// The importer of a part that was judged before: the part's own data may be there by now.
  private let begun: KeyedArrivals
  private let apps: AppHome
  private let appOptions: AppImporter.Options
  private let stop: StopSignal
  private let observer: @Sendable (HostNews) -> Void
  private let traces = Mutex(Traces())

  /// The arrived items that lead into the old home.
  private struct Traces: Sendable {
    /// The paths of the old home: one part of a plan tells them for all parts.
    var homePaths: [HomePath] = []
    /// By the names of the parts, each of which may be imported again.
    var found: [String: HomeTraces] = [:]
  }

  /// Takes the folders into the directory that a command line names, which is a home, and the data of apps
  /// with extensions into the apps of `home`, which is PEER_HOME.
  ///
  /// - Parameters:
  ///   - use: tells a person to close an app that is in use here; without it, the data of such an app is refused.
  ///   - stop: ends the start of an app's extension, and the wait for an app's end.
  init(
    _ options: ReceiveOptions, home: [UInt8], knowing known: KnownApps, judging rule: ArrivalRule,
    settings: SettingsLoader?, waiting use: AppUse?, until stop: StopSignal,
    telling tell: @escaping @Sendable (TransferEvent) -> Void
  ) throws(Failure) {
    let place = try options.place
    folders = try FolderImporter(
      into: place, preserving: options.preserved, atMost: options.mostBytes.map { MostBytes($0) },
      existing: options.existing, judging: rule)
    area = folders.area
    keyed = KeyedArrivals(
      area: area, home: SharedDirectory(try StagingArea.openOrMake(place)), rule: rule, known: known,
      replacesApps: options.importing.replaces, store: TransferStore(home: home), settings: settings, use: use,
      stop: stop)
    var begun = keyed
    (begun.replacesApps, begun.store, begun.tell) = (true, nil, { tell(.notice($0)) })
    self.begun = begun
    apps = try AppHome(home: home)
    self.stop = stop
    observer = HostNews.telling(tell)
    var importing = options.importing
    importing.most = options.mostBytes.map { MostBytes($0) }
    importing.isOfEverything = true
    appOptions = importing
  }

  var request: AppRequest? { nil }
  var graceAtTheEnd: Double { AppImporter.grace }

  func places(of part: Part) -> RootDestinations? { keyed.places(of: part) }

  func judge(of part: Part) throws(Failure) -> any PartJudge {
    if !part.homePaths.isEmpty { traces.withLock { $0.homePaths = part.homePaths } }
    switch part.contents {
    case .folders: return folders
    case .app(let app): return try AppCandidate(app, in: apps, options: appOptions)
    case .role, .files, .unknown: return try keyed.importer(of: part)
    }
  }

  func arrival(of part: Part) -> PartArrival {
    switch part.contents {
    case .folders: return folders.arrival(of: part)
    case .app(let app):
      let name = (try? apps.appAccepting(app))?.identifier ?? app.bundleIdentifier
      return PartArrival(name: VisibleText.of(name), roots: [.apps])
    case .role, .files, .unknown:
      return keyed.arrival(of: part) ?? PartArrival(name: VisibleText.of(part.name), roots: [.apps])
    }
  }

  func permit(for part: Part, taking taken: ArrivalClasses) -> ArrivalPermit? {
    switch part.contents {
    case .folders: folders.permit(for: part, taking: taken)
    case .role, .files: keyed.permit(for: part, taking: taken)
    // It is taken as a whole.
    case .app, .unknown: nil
    }
  }

  /// The next steps of this device's user after a migration.
  func nextSteps(after migration: PartEnds) -> [NextStep] {
    let (told, found) = traces.withLock { ($0.homePaths, $0.found) }
    let home = keyed.oldPaths(told)?.home ?? []
    let traces = found.sorted { $0.key < $1.key }.map(\.value)
    return keyed.nextSteps(after: migration)
      + traces.flatMap { $0.sentences(home) }.map { NextStep(kind: .traces, sentence: $0) }
  }

  /// The same importer, which also notes the items that lead into the old home.
  private func tracing(_ importer: FolderImporter, _ part: Part) -> FolderImporter {
    let places = places(of: part)
    return importer.looking { [self] files in
      guard let paths = keyed.oldPaths(traces.withLock { $0.homePaths }) else { return }
      var found = HomeTraces()
      found.look(at: files, for: paths) { places?.place(of: $0.bytes) ?? $0.bytes }
      traces.withLock { $0.found[part.name] = found }
    }
  }

  func importer(of part: Part) throws(Failure) -> any Importer {
    switch part.contents {
    case .folders: return tracing(folders, part)
    case .role: return tracing(try begun.importer(of: part), part)
    case .app(let app):
      do throws(Failure) {
        return try AppImporter(
          app: try apps.appAccepting(app).identifier, home: apps, options: appOptions, until: stop, observer: observer)
      } catch {
        throw error.ofPart
      }
    case .files, .unknown: return try begun.importer(of: part)
    }
  }
}
