import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// An author's trial of an extension: its abilities, and the contents of its archive.
///
/// Everything happens as in a migration, except that the frames are discarded. The data is only
/// read, as in any export.
package final class ExtensionCheck: Sendable {
  private let place: CheckSite
  private let launch: ExtensionLaunch
  private let observe: @Sendable (HostNews) -> Void

  /// Uses a given container, or the data of the app if it is installed in `home`, under its lock,
  /// or otherwise empty data.
  package init(
    _ bundle: AppBundle, home: [UInt8], container: [UInt8]?, isConfined: Bool = true,
    observer: @escaping @Sendable (HostNews) -> Void
  ) throws(Failure) {
    place = try CheckSite(bundle, home: home, container: container, observer: observer)
    var site = place.site
    site.isConfined = isConfined
    observe = observer
    launch = ExtensionLaunch(site: site, observe: observer)
  }

  /// The data of the trial.
  package var data: CheckedData { place.data }

  /// The hint for an extension that cannot be started.
  package static func hint(for error: Failure) -> String {
    error.cause?.isPermissionDenied == true
      ? Failure.forbidden : error.hint ?? "Repair the bundle, and check it again."
  }

  /// Starts the extension and asks for its abilities.
  package func abilities(
    idleLimit: IdleLimit = .standard, until stop: StopSignal
  ) throws(Failure) -> ExtensionAbilities {
    var launch = launch
    launch.idleLimit = idleLimit
    return try launch.probe(.probing, until: stop)
  }

  /// Lets the extension export everything, and discards or extracts the result.
  ///
  /// - Parameters:
  ///   - platform: the platform of the imagined destination.
  ///   - options: the options that its user asks for.
  ///   - folder: the folder for the archive, new or empty; nil to discard it.
  ///   - tell: gets the record of each item.
  package func export(
    platform: String = AppSource.platform, options: [AppRequest.Option] = [], idleLimit: IdleLimit = .standard,
    extractingTo folder: [UInt8]? = nil, until stop: StopSignal,
    telling tell: @escaping @Sendable (ItemRecord) -> Void = { _ in }
  ) throws(Failure) -> DryExport {
    let extraction = try folder.map { path throws(Failure) in try Extraction(to: path, keys: DryExport.Reader.keys) }
    let refused = Mutex(DryExport.Some<ReportedError>())
    let settings = Mutex(LeftSettings(at: launch.site))
    let source: AppSource
    do {
      source = try AppSource(launch.site, idleLimit: idleLimit, until: stop) { [observe] news in
        switch news {
        case .refused(let error): refused.withLock { $0.note(error) }
        case .appended(let place): settings.withLock { $0.note(place) }
        case .output, .notice, .weakness: observe(news)
        }
      }
    } catch {
      throw error.code == .unfitApp ? Failure(.exportFailed, error.message) : error
    }
    let summary = try source.prepare(until: stop)
    guard case .app(let identity) = summary.contents else { preconditionFailure("an app's source offers an app") }
    let reader = DryExport.Reader(until: stop, into: extraction?.staging, telling: tell)
    if let notice = SourceClaim.notice(on: platform) { observe(.notice(notice)) }
    let request = AppRequest(bundleIdentifier: identity.bundleIdentifier, platform: platform, options: options)
    let begin = BootInstant.now()
    let finish = try read(source, for: request, by: reader)
    let end = BootInstant.now()
    if let failure = reader.failure { throw failure }
    try extraction?.complete(finish)
    return DryExport(
      version: identity.version, estimate: summary.total.bytes, isCompressible: summary.isCompressible,
      roots: reader.roots, total: finish.total, seconds: end.seconds(since: begin), unsent: reader.unsent,
      encoded: reader.encoded.filter(amongNamesOf: launch.site),
      refused: refused.withLock { $0 }, leftSettings: settings.withLock { $0.path },
      scratchBytes: source.growth?.bytes ?? 0)
  }

  /// The settings of an app (`UserDefaults.standard`) that no append has brought.
  private struct LeftSettings {
    /// The path in the container; nil without values, or if they may have been appended.
    private(set) var path: String?
    private let container: String
    private let scratch: String

    init(at site: ExtensionSite) {
      (container, scratch) = (site.container, site.scratch)
      let name = ".config/\(site.identifier).plist"
      guard let bytes = try? FileContent.read(Array("\(container)/\(name)".utf8), limit: 1 << 20),
        PropertyList(bytes) != .dictionary([:])
      else { return }
      path = name
    }

    /// An appended place may be that of the settings, or of a directory around them. A temporary file
    /// may have their values.
    mutating func note(_ place: [UInt8]) {
      let place = String(decoding: place, as: UTF8.self)
      if place.hasPrefix(scratch) || path.map({ "\(container)/\($0)/".hasPrefix("\(place)/") }) == true { path = nil }
    }
  }

  private func read(
    _ source: AppSource, for request: AppRequest, by reader: DryExport.Reader
  ) throws(Failure) -> Finish {
    let thread = Mutex<OwnerThread?>(nil)
    let failure = Mutex<SystemError?>(nil)
    defer {
      reader.end()
      thread.withLock { $0 }?.join()
    }
    do {
      let result = try source.export(reader.settings, for: request) { frames in
        do throws(SystemError) {
          let new = try OwnerThread(name: "reader") { reader.read(frames) }
          thread.withLock { $0 = new }
        } catch {
          failure.withLock { $0 = error }
          reader.stopSignal.set()
        }
      }
      return result.finish
    } catch {
      if let failure = reader.failure { throw failure }
      guard let cause = failure.withLock({ $0 }) else { throw error }
      throw Failure(.source, "the archive cannot be read", cause: cause)
    }
  }
}

/// A separate directory among the user's temporary files, in which apps can be kept.
package struct TemporaryHome: Sendable {
  /// The absolute path, without links.
  package let path: [UInt8]

  /// Creates a directory whose name begins with the prefix. The hint is for a lack of space, or an
  /// unsuitable path.
  package init(prefix: String, hint: String) throws(Failure) {
    let parent = Environment.bytes("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? Array("/tmp".utf8)
    let name = "\(prefix)\(try InstalledApp.randomName())"
    do throws(SystemError) {
      let parent = try Directory.open(parent)
      try parent.makeDirectory(name, mode: 0o700)
      path = try parent.openChildDirectory(name).canonicalPath()
    } catch {
      throw Failure(
        .failed, "no directory can be created in \(VisibleText.quoted(parent))", hint: hint, name: parent, cause: error
      )
    }
    do {
      try AppHome.check(path, hint: hint)
    } catch {
      remove()
      throw error
    }
  }

  /// A directory that was created before.
  package init(at path: [UInt8]) { self.path = path }

  /// Removes it with its contents, as far as possible.
  package func remove() {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return }
    try? Directory.open(Array(path[..<max(slash, 1)])).removeTree(ifThere: Array(path[(slash + 1)...]))
  }
}
