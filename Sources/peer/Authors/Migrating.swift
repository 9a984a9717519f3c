import MigrationEngine
import MigrationHost
import MigrationTransfer
import MigrationWire

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

  private static func migrate(_ options: MigrateOptions, _ output: MigrationOutput) throws(TransferFailure) -> Int32 {
    let interruption = try Interruption()
    try prepareProcess()
    let sourceHome = try Home.path()
    // Everything is checked before anything is created.
    let bundle = try read(options.bundle)
    try interruption.watch()
    interruption.tell { _ in output.hurry() }
    for note in bundle.notes { output.handle(.notice(note), of: .importer) }
    let source = try interruption.honoured { () throws(TransferFailure) in
      try appSource(
        options.identifier, options.sending, home: sourceHome,
        edition: bundle.identifier == options.identifier ? bundle : nil, until: interruption.early
      ) {
        output.handle($0, of: .exporter)
      }
    }
    defer { source.end() }
    let home = try DestinationHome(options.home, apart: sourceHome)
    let results: BothEnds.Results
    do throws(TransferFailure) {
      try home.install(bundle)
      let receiving = options.receiving(as: bundle.identifier, from: bundle.path)
      let importer = try interruption.honoured { () throws(TransferFailure) in
        try makeImporter(receiving, home: home.path, until: interruption.early) { output.handle($0, of: .importer) }
      }
      // The device of the data keeps no record of this transfer.
      let store = TransferStore(home: home.path)
      let ends = try BothEnds(receiving.transfer, importer: importer, store: store) {
        output.handle($0, of: $1)
      }
      if let kind = interruption.kind { throw TransferFailure(kind, "interrupted") }
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

  private static func read(_ path: [UInt8]) throws(TransferFailure) -> AppBundle {
    do {
      let bundle = try AppBundle(reading: AppBundle.place(of: path))
      _ = try bundle.extensionToMigrate()
      return bundle
    } catch {
      throw TransferFailure(error)
    }
  }
}
