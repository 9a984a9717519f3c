import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// `peer app check`: a check of a bundle for its author, before it is published.
enum Checking {
  /// Performs the check, and returns the program's exit code.
  static func perform(_ options: CheckOptions) -> Int32 {
    let output = CheckOutput(json: options.json)
    do {
      try check(options, output)
      return output.end
    } catch {
      return output.fail(error)
    }
  }

  private static func check(_ options: CheckOptions, _ output: CheckOutput) throws(TransferFailure) {
    let interruption = try Interruption()
    prepareProcess()
    let home = try Home.path()
    try interruption.watch()
    output.heed(interruption)
    let bundle = try examine(options.bundle, output)
    guard bundle.migrationExtension != nil else {
      output.say(.bundle(bundle, nil))
      return output.say(.checked(bundle.identifier))
    }
    let check: ExtensionCheck
    do {
      check = try ExtensionCheck(
        bundle, home: home, container: options.container, isConfined: options.isConfined
      ) { news in
        switch news {
        case .output(let line): output.say(.output(line))
        case .notice(let text): output.say(.notice(text))
        // The total is reported at the end.
        case .refused: break
        }
      }
    } catch {
      throw TransferFailure(error)
    }
    output.say(.bundle(bundle, check.data))
    try interruption.honoured { () throws(TransferFailure) in
      try run(check, bundle, options, interruption.early, output)
    }
    output.say(.checked(bundle.identifier))
  }

  /// Reports all errors of a bundle; returns the bundle if it has none.
  private static func examine(_ path: [UInt8], _ output: CheckOutput) throws(TransferFailure) -> AppBundle {
    let (bundle, faults): (AppBundle?, [BundleFault])
    do {
      (bundle, faults) = try AppBundle.examine(AppBundle.place(of: path))
    } catch {
      throw TransferFailure(error)
    }
    for fault in faults { output.say(.fault(fault)) }
    guard let bundle else {
      throw TransferFailure(
        .refused, "the bundle is invalid: \(Figures.count(UInt64(faults.count), "error"))",
        hint: "Fix the errors above; then the extension is tried.")
    }
    for note in bundle.notes { output.say(.notice(note)) }
    return bundle
  }

  private static func run(
    _ check: ExtensionCheck, _ bundle: AppBundle, _ options: CheckOptions, _ stop: StopSignal, _ output: CheckOutput
  ) throws(TransferFailure) {
    let abilities: ExtensionAbilities
    do {
      abilities = try check.abilities(idleLimit: options.idleLimit, until: stop)
    } catch {
      throw failure(error, as: .refused, hint: ExtensionCheck.hint(for: error))
    }
    output.say(.abilities(abilities))
    guard !abilities.isEmpty else {
      throw TransferFailure(
        .refused, "the extension of \(bundle.identifier) can neither export nor import",
        hint: "Its type must adopt a protocol such as ResourcesExporting or ResourcesImporting.")
    }
    guard abilities.contains(.exports) else {
      return output.say(.notice("the extension does not export, so no export is tried"))
    }
    let export: DryExport
    do {
      export = try check.export(idleLimit: options.idleLimit, until: stop)
    } catch {
      throw failure(error, as: .exportFailed)
    }
    output.say(.archive(export))
    for notice in export.notices(on: check.data) { output.say(.notice(notice)) }
  }

  private static func failure(
    _ error: ArchiveError, as kind: TransferFailure.Kind, hint: String? = nil
  ) -> TransferFailure {
    if error.code == .stopped { return TransferFailure(.interrupted, "interrupted") }
    let failure = TransferFailure(error)
    // A limit of this device is not the extension's error.
    if error.code == .storage || error.code == .noSpace { return failure }
    return TransferFailure(kind, failure.message, hint: hint ?? failure.hint, about: failure.subject)
  }
}

extension AppBundle {
  /// The absolute path of a bundle, since its programs are started in another directory.
  static func place(of path: [UInt8]) -> [UInt8] { (try? Directory.open(path).canonicalPath()) ?? path }
}
