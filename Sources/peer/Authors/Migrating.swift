import MigrationEngine
import MigrationHost
import MigrationTransfer
import MigrationWire

/// `peer app migrate`: what an author sees of a migration, on one device and with one command.
enum Migrating {
  /// Migrates, and returns the program's exit code.
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
    prepareProcess()
    let sourceHome = try Home.path()
    try interruption.watch()
    interruption.tell { _ in output.hurry() }
    // It is there and free, or nothing is made.
    let source = try Ends.app(options.identifier, options.sending, home: sourceHome) {
      output.handle($0, of: .exporter)
    }
    defer { source.end() }
    let home = try DestinationHome(options.home, apart: sourceHome)
    let (identifier, ends, store): (String, BothEnds, TransferStore)
    do {
      identifier = try install(options.bundle, in: home)
      let receiving = options.receiving(as: identifier)
      let importer = try Ends.importer(receiving, home: home.path) { output.handle($0, of: .importer) }
      // Nothing of it is remembered where the data comes from.
      store = TransferStore(home: home.path)
      ends = try BothEnds(Receiver.Options(receiving), importer: importer, store: store) { output.handle($0, of: $1) }
    } catch {
      home.discard()
      throw error
    }
    interruption.tell { kind in
      output.hurry()
      ends.stop(kind)
    }
    let results = try ends.run(options.sending, source: source, store: store)
    return output.finish(results, identifier, in: home)
  }

  private static func install(_ bundle: [UInt8], in home: DestinationHome) throws(TransferFailure) -> String {
    do {
      return try AppHome(home: home.path).install(bundle).app.identifier
    } catch {
      throw TransferFailure(error)
    }
  }
}
