import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The options of `peer app check`.
struct CheckOptions: Equatable, Sendable {
  /// The path of the bundle.
  var bundle: [UInt8]
  /// The directory used instead of the app's container; nil for the container of the app, if it is
  /// installed.
  var container: [UInt8]?
  /// The platform of the imagined destination.
  var platform = AppSource.platform
  /// The options for the exporter; no name occurs twice.
  var options: [AppRequest.Option] = []
  /// The time in which the exporter may append nothing.
  var idleLimit = IdleLimit.standard
  /// Whether the extension is confined.
  var isConfined = true
  /// Whether a note for the author is an error.
  var isStrict = false
  /// A folder for the archive, new or empty; nil to discard the archive.
  var extracted: [UInt8]?
  /// Whether a program reads the output.
  var json = false
}

/// The options of `peer app migrate`.
struct MigrateOptions: Equatable, Sendable {
  /// The app whose data is migrated.
  var identifier: String
  /// The path of the receiving app's bundle.
  var bundle: [UInt8]
  /// A folder with an archive, which no exporter has to make; nil to export the data of the app.
  var archive: [UInt8]?
  /// The version of that archive's data.
  var archiveVersion = ""
  /// Whether the extension in the bundle exports, too, and not that of the installed app.
  var bundleExports = false
  /// The PEER_HOME of the receiving app; nil for a new one.
  var home: [UInt8]?
  /// The options of the exporting end, without the app.
  var sending = SendOptions(sources: [])
  /// The options of the importing end, without the bundle.
  var importing = AppImporter.Options()
  /// Whether a program reads the output.
  var json = false
}

extension CheckOptions {
  /// Parses the words after `peer app check`.
  init(_ arguments: Arguments) throws(Failure) {
    bundle = try arguments.operand(.appCheck, "bundle", hint: "Name the directory of an app's bundle.")
    container = arguments.bytes("--container")
    platform = try arguments.platform() ?? platform
    options = try arguments.requestOptions(.appCheck)
    idleLimit = try arguments.idleLimit() ?? .standard
    isConfined = !arguments.has("--no-confine")
    isStrict = arguments.has("--strict")
    extracted = arguments.bytes("--extract")
    json = arguments.has("--json")
  }
}

extension MigrateOptions {
  /// Parses the words after `peer app migrate`.
  init(_ arguments: Arguments) throws(Failure) {
    identifier = VisibleText.of(try arguments.operand(.appMigrate, "app", hint: AppCommand.hint))
    guard let bundle = arguments.bytes("--to") else {
      throw .usage(
        "missing required option --to",
        hint: "Name the bundle of the receiving app, as in --to ./Notes.app.")
    }
    self.bundle = bundle
    archive = arguments.bytes("--archive")
    archiveVersion = try arguments.text("--archive-version") ?? archiveVersion
    bundleExports = arguments.has("--bundle-exports")
    home = arguments.bytes("--home")
    sending.claim = try arguments.claim()
    importing.platform = try arguments.platform() ?? importing.platform
    importing.requested = try arguments.requestOptions(.appMigrate)
    importing.replaces = arguments.has("--replace")
    sending.idleLimit = try arguments.idleLimit() ?? .standard
    sending.isConfined = !arguments.has("--no-confine")
    importing.isConfined = sending.isConfined
    json = arguments.has("--json")
  }

  /// The options of the importing end: it listens only on this device, at a port that the kernel
  /// chooses.
  func receiving(as identifier: String, from bundle: [UInt8]) -> ReceiveOptions {
    var importing = importing
    importing.draft = bundle
    return ReceiveOptions(
      app: identifier, importing: importing, isAnnounced: false,
      transfer: Receiver.Options(listen: HostAndPort(host: BothEnds.host, port: 0)))
  }
}

/// `peer app check`: a check of a bundle for its author, before it is published.
extension CheckOptions {
  /// Performs the check, and returns the program's exit code.
  func perform() -> Int32 {
    let output = CheckOutput(json: json)
    do throws(Failure) {
      let identifier = try check(output)
      if isStrict, output.notes > 0 {
        throw Failure(
          .refused, "\(Figures.count(output.notes, "note")), and --strict allows none",
          hint: "Without --strict, notes are no errors.")
      }
      output.say(.checked(identifier))
      return output.end
    } catch {
      return output.fail(error)
    }
  }

  /// Returns the app's identifier.
  private func check(_ output: CheckOutput) throws(Failure) -> String {
    let interruption = try Interruption()
    try prepareProcess()
    let home = try Home.path()
    try interruption.watch()
    let bundle = try Self.examine(self.bundle, output)
    guard bundle.migrationExtension != nil else {
      output.say(.bundle(bundle, nil))
      return bundle.identifier
    }
    let check = try ExtensionCheck(
      bundle, home: home, container: container, isConfined: isConfined
    ) { news in
      switch news {
      case .output(let line): output.say(.output(line))
      case .notice(let text): output.say(.notice(text))
      case .weakness(let text): output.say(.weakness(text))
      // The total is reported at the end.
      case .refused, .appended: break
      }
    }
    output.say(.bundle(bundle, check.data))
    try interruption.honoured { () throws(Failure) in
      try run(check, bundle, interruption.early, output)
    }
    return bundle.identifier
  }

  /// Reports all errors of a bundle; returns the bundle if it has none.
  private static func examine(_ path: [UInt8], _ output: CheckOutput) throws(Failure) -> AppBundle {
    let (bundle, faults) = try AppBundle.examine(AppBundle.place(of: path))
    for fault in faults { output.say(.fault(fault)) }
    guard let bundle else {
      throw Failure(
        .refused, "the bundle is invalid: \(Figures.count(UInt64(faults.count), "error"))",
        hint: "Fix the errors above; then the extension is tried.")
    }
    for note in bundle.notes { output.say(.notice(note)) }
    return bundle
  }

  private func run(
    _ check: ExtensionCheck, _ bundle: AppBundle, _ stop: StopSignal, _ output: CheckOutput
  ) throws(Failure) {
    let abilities = try faulting(.refused, ExtensionCheck.hint) { () throws(Failure) in
      try check.abilities(idleLimit: idleLimit, until: stop)
    }
    output.say(.abilities(abilities))
    guard !abilities.isEmpty else {
      throw Failure(
        .refused, "the extension of \(bundle.identifier) can neither export nor import",
        hint: "Its type must adopt a protocol such as ResourcesExporting or ResourcesImporting.")
    }
    guard abilities.contains(.exports) else {
      return output.say(.notice("the extension does not export, so no export is tried"))
    }
    let export = try faulting(.exportFailed) { () throws(Failure) in
      try check.export(
        platform: platform, options: options, idleLimit: idleLimit, extractingTo: extracted, until: stop
      ) { record in
        if extracted != nil { output.say(.item(record)) }
      }
    }
    output.say(.archive(export))
    for notice in export.notices(on: check.data) { output.say(.notice(notice)) }
  }

  /// Runs a part of the check. Its failure is the extension's, except for a limit of this device.
  private func faulting<Result>(
    _ code: Failure.Code, _ hint: (Failure) -> String? = \.hint, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    do {
      return try body()
    } catch {
      switch error.code {
      case .stopped: throw .interrupted(by: .interrupted)
      case .storage, .failed, .noSpace, .refused: throw error
      default: throw error.coded(code).hinting(hint(error))
      }
    }
  }
}

extension AppBundle {
  /// The absolute path of a bundle, since its programs are started in another directory.
  static func place(of path: [UInt8]) -> [UInt8] { (try? Directory.open(path).canonicalPath()) ?? path }
}

/// The output of `peer app check`, line by line; any thread may write to it.
final class CheckOutput: Sendable {
  private let json: Bool
  /// The streams that took no more.
  private let state = Mutex((lost: Set<StandardStream>(), notes: UInt64(0)))

  init(json: Bool) { self.json = json }

  func say(_ finding: CheckFinding) {
    if case .notice = finding { state.withLock { $0.notes += 1 } }
    write(json ? finding.line : finding.text)
  }

  /// The number of notes for the author.
  var notes: UInt64 { state.withLock { $0.notes } }

  /// Reports the failure, and returns the program's exit code.
  func fail(_ failure: Failure) -> Int32 {
    write(Answer.rendering(of: failure, json: json))
    return ExitCode.of(failure)
  }

  /// The program's exit code if all output could be written.
  var end: Int32 {
    let isUnwritten = state.withLock { $0.lost.contains(.output) }
    guard isUnwritten, !StandardStream.output.hasLostReader else { return ExitCode.done }
    StandardStream.error.write(Answer.unwritten.text)
    return ExitCode.of(Answer.unwritten)
  }

  private func write(_ rendering: Rendering) {
    state.withLock { state in
      for (stream, text) in [(StandardStream.error, rendering.standardError), (.output, rendering.standardOutput)] {
        guard !text.isEmpty, !state.lost.contains(stream) else { continue }
        if !stream.write(text) { state.lost.insert(stream) }
      }
    }
  }
}
