import MigrationArchive
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The source of a part, under the part's label: folders, or an app whose extension
/// exports.
final class LabelledSource: ItemSource {
  /// Whether the app of a part is in use.
  struct Use: Sendable {
    let name: String
    /// Whether a person can close it, and the part waits for that.
    let waits: Bool
    /// Tells a person of the wait.
    let told: AppUse
    /// The program that uses the data now, for people.
    let now: @Sendable () -> String?
    /// Whether the items are listed anew when the app is closed.
    var listsAnew = true

    func error(_ user: String) -> Failure {
      Failure(
        .appInUse, "\(VisibleText.of(name)) is in use by \(VisibleText.of(user))",
        hint: DataHint.appInUse.text)
    }
  }

  private let source: any ItemSource
  private let label: Part.Label
  let places: RootDestinations?
  private let use: Use?
  private let begun = Mutex(false)
  /// Whether anything of the part may be on the other device, since it was to be sent in this run.
  var hasBegun: Bool { begun.withLock { $0 } }
  /// Whether it is the data of an app.
  var isOfApp: Bool { use != nil }

  /// - Parameter places: where the roots are in the home, if their names are keys.
  init(_ source: any ItemSource, _ label: Part.Label, places: RootDestinations? = nil, use: Use? = nil) {
    self.source = source
    self.label = label
    self.places = places
    self.use = use
  }

  func origin() throws(Failure) -> [[UInt8]] { try source.origin() }

  func identities(by naming: SourceNaming) -> [SourceIdentity] { source.identities(by: naming) }

  func prepare(until stop: StopSignal) throws(Failure) -> SourceSummary {
    var summary = try source.prepare(until: stop)
    summary.label = label
    return summary
  }

  func export(
    _ settings: ExportSettings, for request: AppRequest?, begin: (any FrameSource) -> Void
  ) throws(Failure) -> ExportResult {
    guard let use else {
      begun.withLock { $0 = true }
      return try source.export(settings, for: request, begin: begin)
    }
    if let user = use.now() {
      guard use.waits else { throw use.error(user) }
      try wait(for: use, user, unless: settings.stopSignal)
    }
    // The app has written since the plan was made, until it was closed.
    if use.listsAnew { _ = try source.prepare(until: settings.stopSignal) }
    begun.withLock { $0 = true }
    let result = try source.export(settings, for: request, begin: begin)
    // Data that a program has begun to use meanwhile may be of two states.
    if let user = use.now() { throw use.error(user) }
    return result
  }

  /// Asks a person to close the app, and waits until that is done.
  private func wait(for use: Use, _ user: String, unless stop: StopSignal) throws(Failure) {
    do throws(SystemError) {
      try use.told.wait(for: use.name, user, unless: stop, use.now)
    } catch {
      throw stop.isSet
        ? Failure(.stopped, "stopped") : Failure(.exportFailed, "the wait for an app failed", cause: error)
    }
  }

  var isRotating: Bool { source.isRotating }
  var graceAtTheEnd: Double { source.graceAtTheEnd }
  func end() { source.end() }
}
