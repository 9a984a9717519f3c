import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

extension Output {
  /// Reports the result of an end. Returns the exit code that this end would have.
  fileprivate func end(_ result: TransferOutcome) -> Int32 {
    switch result {
    case .success(let result): finish(result)
    case .failure(let failure): fail(failure)
    }
  }
}

extension OutputTarget {
  /// A target for several writers: each text is written whole before the next one begins.
  fileprivate func shared() -> OutputTarget {
    let locks = (output: Turn(), error: Turn())
    let lock = { @Sendable (stream: StandardStream) in stream == .output ? locks.output : locks.error }
    return OutputTarget(
      write: { [write] text, stream, took in lock(stream).mutex.withLock { _ in write(text, stream, took) } },
      // If the reader of another writer has stopped, waiting is useless.
      attempt: { [attempt] text, stream in _ = lock(stream).mutex.withLockIfAvailable { _ in attempt(text, stream) } })
  }
}

/// A lock that closures can hold.
private final class Turn: Sendable {
  let mutex = Mutex(())
}

extension BothEnds.Results {
  /// The same results, with the home that another run has to name in the hints of failures.
  fileprivate func hinting(at home: DestinationHome) -> BothEnds.Results {
    BothEnds.Results(
      exporter: exporter.mapError { $0.resumed(in: home) }, importer: importer.mapError { $0.resumed(in: home) })
  }
}

extension Failure {
  /// The same failure, with the hint that another run goes on in the same home, if it can.
  func resumed(in home: DestinationHome) -> Failure {
    switch kind {
    case .importFailed, .exportFailed, .interrupted, .terminated, .connectionLost, .noSpace: break
    default: return self
    }
    let again = "To go on, run the same command with --home \(VisibleText.listed(home.path))."
    return hinting([hint, again].compactMap { $0 }.joined(separator: " "))
  }
}

/// What exports in a migration on one device.
enum Exporter {
  case installed(AppBundle)
  case bundle(AppBundle)
  case archive([UInt8])

  /// A sentence.
  fileprivate var words: String {
    switch self {
    case .installed(let app): "The extension of the installed \(app.identifier) \(VisibleText.of(app.version)) exports."
    case .bundle(let app): "The extension of \(app.identifier) \(VisibleText.of(app.version)) in the bundle exports."
    case .archive(let path): "The archive \(VisibleText.quoted(path)) takes the place of an export."
    }
  }

  fileprivate var members: JSONMembers {
    switch self {
    case .installed(let app): ["from": "installed", "id": app.identifier, "version": app.version]
    case .bundle(let app): ["from": "bundle", "id": app.identifier, "version": app.version]
    case .archive: ["from": "archive", "id": nil as String?, "version": nil as String?]
    }
  }
}

extension MigrateOptions {
  /// What exports for this bundle.
  fileprivate func exporter(to bundle: AppBundle, home: [UInt8]) throws(Failure) -> Exporter {
    if let archive {
      if bundleExports {
        throw .usage("--archive and --bundle-exports exclude each other", hint: "With --archive, nothing exports.")
      }
      return .archive(archive)
    }
    guard !bundleExports || bundle.identifier == identifier else {
      throw .usage(
        "--bundle-exports: the bundle is of \(bundle.identifier), and the data of \(identifier)",
        hint: "Without the option, the extension of the installed app exports.")
    }
    guard let apps = try AppHome.ifThere(home) else { throw .notInstalled(identifier) }
    let installed = try apps.app(identifier).bundle
    return bundleExports ? .bundle(bundle) : .installed(installed)
  }
}

/// `peer app migrate`: a migration for an author, on one device and with one command.
enum Migrating {
  /// Performs the migration, and returns the program's exit code.
  static func perform(_ options: MigrateOptions) -> Int32 {
    let output = MigrationOutput(json: options.json)
    do {
      return try migrate(options, output)
    } catch {
      return output.fail(error)
    }
  }

  private static func migrate(_ options: MigrateOptions, _ output: MigrationOutput) throws(Failure) -> Int32 {
    let interruption = try Interruption()
    try prepareProcess()
    let sourceHome = try Home.path()
    // Everything is checked before anything is created.
    let bundle = try read(options.bundle)
    let exporter = try options.exporter(to: bundle, home: sourceHome)
    output.begin(exporter, bundle)
    try interruption.watch()
    interruption.tell { _ in output.hurry() }
    for note in bundle.notes { output.handle(.notice(note), of: .importer) }
    let source = try interruption.honoured { () throws(Failure) -> any ItemSource in
      if case .archive(let path) = exporter {
        return try KeptArchive(
          at: path, of: options.identifier, version: options.archiveVersion, claim: options.sending.claim)
      }
      return try appSource(
        options.identifier, options.sending, home: sourceHome, edition: options.bundleExports ? bundle : nil,
        until: interruption.early
      ) {
        output.handle($0, of: .exporter)
      }
    }
    defer { source.end() }
    let home = try DestinationHome(options.home, apart: sourceHome)
    let results: BothEnds.Results
    do throws(Failure) {
      try home.install(bundle)
      let receiving = options.receiving(as: bundle.identifier, from: bundle.path)
      let importer = try interruption.honoured { () throws(Failure) in
        try makeImporter(receiving, home: home.path, until: interruption.early) { output.handle($0, of: .importer) }
      }
      // The device of the data keeps no record of this transfer.
      let store = TransferStore(home: home.path)
      let ends = try BothEnds(receiving.transfer, importer: importer, store: store) {
        output.handle($0, of: $1)
      }
      if let kind = interruption.kind { throw .interrupted(by: kind) }
      interruption.tell { kind in
        output.hurry()
        ends.stop(kind)
      }
      results = try ends.run(options.sending.transfer, source: source, store: store)
    } catch {
      // The migration has not begun.
      home.discard()
      throw error
    }
    return output.finish(results, bundle.identifier, in: home)
  }

  private static func read(_ path: [UInt8]) throws(Failure) -> AppBundle {
    let bundle = try AppBundle(reading: AppBundle.place(of: path))
    _ = try bundle.extensionToMigrate()
    return bundle
  }

  /// The output of a migration on one device: a person gets one report, a program the reports of both
  /// ends.
  final class MigrationOutput: Sendable {
    private struct State: Sendable {
      /// The notices that were shown: a notice of both ends is shown once.
      var notices: Set<String> = []
      /// The start and the end of the import, in seconds.
      var importing: (from: Double, to: Double?)?
    }

    private let json: Bool
    private let exporter: Output
    /// For a person, this is the output of the exporter too.
    private let importer: Output
    private let state = Mutex(State())

    init(json: Bool) {
      self.json = json
      guard json else {
        importer = Output(HumanReport(.receiver, on: .standardError, speaker: nil), to: .standard)
        exporter = importer
        return
      }
      let target = OutputTarget.standard.shared()
      exporter = Output(JSONReport.ofRun(.exporter), to: target)
      importer = Output(JSONReport.ofRun(.importer), to: target)
    }

    /// Says who exports and who imports, before anything else.
    func begin(_ exporter: Exporter, _ bundle: AppBundle) {
      let importer = "\(bundle.identifier) \(VisibleText.of(bundle.version)) in \(VisibleText.listed(bundle.path))"
      if json {
        let line = Rendering.event(
          "migrating",
          [
            "exporter": exporter.members,
            "importer": ["from": "bundle", "id": bundle.identifier, "version": bundle.version] as JSONMembers,
          ])
        StandardStream.output.write(line.standardOutput)
      } else {
        StandardStream.error.write("\(exporter.words) The extension of \(importer) imports.\n")
      }
    }

    /// Records an event of one end; returns at once.
    func handle(_ event: TransferEvent, of side: Side) {
      // A code has no use outside of this process.
      if case .code = event { return }
      let now = BootInstant.now().seconds
      state.withLock { state in
        switch event {
        case .importing where side == .importer: state.importing = (now, nil)
        // The importer's end is its last progress; what follows is the host's own work.
        case .progress(let progress) where side == .importer && progress.phase == .importing:
          state.importing?.to = now
        default: break
        }
      }
      if json { return (side == .exporter ? exporter : importer).handle(event) }
      if let event = shown(event, of: side) { importer.handle(event) }
    }

    /// The event that a person is shown: progress comes from the importing end, which knows all of
    /// it; the meeting of the ends is not shown.
    private func shown(_ event: TransferEvent, of side: Side) -> TransferEvent? {
      switch event {
      case .extensionOutput(let isError, let line):
        return .extensionOutput(isError: isError, line: Array("\(side.rawValue): ".utf8) + line)
      case .notice(let text): return state.withLock { $0.notices.insert(text).inserted } ? event : nil
      case .offer, .progress, .staged, .importing, .notStored, .renamed, .resumed:
        return side == .importer ? event : nil
      default: return nil
      }
    }

    /// Hurries because the user wants the program to end.
    func hurry() {
      exporter.hurry()
      if json { importer.hurry() }
    }

    /// Reports a failure before both ends exist, and returns the program's exit code.
    func fail(_ failure: Failure) -> Int32 {
      json ? Output(JSONReport.ofRun(), to: .standard).fail(failure) : importer.fail(failure)
    }

    /// Reports the results of both ends and the place of the app, and returns the program's exit
    /// code.
    func finish(_ results: BothEnds.Results, _ identifier: String, in home: DestinationHome) -> Int32 {
      let results = results.hinting(at: home)
      let failure = results.failure
      let code: Int32
      if json {
        let codes = [exporter.end(results.exporter), importer.end(results.importer)]
        code = failure.map { ExitCode.of($0) } ?? codes.max() ?? ExitCode.done
      } else if let failure {
        code = importer.fail(failure)
      } else {
        code = importer.end(results.importer)
      }
      return Answer.write(json ? line(identifier, home, failure) : text(identifier, home, failure), code)
    }

    /// The duration of the import in seconds; nil if none was completed.
    private var importSeconds: Double? {
      state.withLock { $0.importing }.flatMap { importing in importing.to.map { $0 - importing.from } }
    }

    private func text(_ identifier: String, _ home: DestinationHome, _ failure: Failure?) -> Rendering {
      let place = VisibleText.listed(home.path)
      guard failure == nil else {
        let state =
          home.isNew ? "the app without the data is in \(place)" : "the app in \(place) received no data in this run"
        return Rendering(standardError: "peer: note: \(state)\n")
      }
      let took = importSeconds.map { "The import took \(Figures.duration($0)).\n" } ?? ""
      return Rendering(
        standardOutput: "\(took)The app with the data is in \(place). To start it:\n"
          + "  PEER_HOME=\(place) peer app run \(identifier)\n")
    }

    private func line(_ identifier: String, _ home: DestinationHome, _ failure: Failure?) -> Rendering {
      .event(
        "migrated",
        [
          "id": identifier, "home": FileName(home.path),
          "importSeconds": failure == nil ? importSeconds.map { ($0 * 1000).rounded() / 1000 } : nil,
          "succeeded": failure == nil,
        ])
    }
  }
}
