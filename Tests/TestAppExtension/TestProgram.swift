import AppMigrationKit

/// The program. Its name in the bundle decides its kind at its start.
@main
enum TestProgram {
  static func main() throws {
    switch CommandLine.arguments.first?.split(separator: "/").last ?? "" {
    case "Fixture": try FixtureExtension.main()
    case "OnlyExporting": try OnlyExporting.main()
    case "OnlyImporting": try OnlyImporting.main()
    case "Neither": try Neither.main()
    case "Trapping": try Trapping.main()
    case "Stopping":
      tell("\(getpid())\nstopping")
      kill(getpid(), SIGSTOP)
      try TestAppExtension.main()
    case "Writing":
      let place = URL(fileURLWithPath: NSHomeDirectory()).appending(path: "Documents/made")
      tell("write inside: \((try? Data().write(to: place)) == nil ? "refused" : "DONE")")
      try OnlyImporting.main()
    case "Crashing": crash()
    case "Leaving": exit(3)
    case "Closing":
      close(3)
      stay()
    case "Silent":
      tell("silent")
      stay()
    default: try TestAppExtension.main()
    }
  }

  /// Writes a line at once, since printed output may be lost this early.
  private static func tell(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

  private static func stay() -> Never { while true { sleep(1) } }
}

/// It can only export.
struct OnlyExporting: ResourcesExporting {
  var resourcesSizeEstimate: Int { get async { 1 } }
  var resourcesVersion: String { "1.0" }
  var resourcesCompressible: Bool { true }

  func exportResources(to archiver: sending ResourcesArchiver, request: MigrationRequest) async throws {
    try await archiver.appendItem(at: appContainer.documentsDirectory)
  }
}

/// It can only import.
struct OnlyImporting: ResourcesImporting {
  let resourcesImportProgress = Progress(totalUnitCount: 1)

  func importResources(at url: URL, request: ResourcesImportRequest) async throws {
    try "yes".write(
      to: appContainer.documentsDirectory.appending(path: "arrived"), atomically: false, encoding: .utf8)
  }
}

/// It can export and import, but its object cannot be made.
struct Trapping: ResourcesExporting, ResourcesImporting {
  init() { fatalError("there is no such object") }

  var resourcesSizeEstimate: Int { get async { 1 } }
  var resourcesVersion: String { "1.0" }
  var resourcesCompressible: Bool { true }

  func exportResources(to archiver: sending ResourcesArchiver, request: MigrationRequest) async throws {}
  func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
}

/// It adopts neither protocol, as if its author had forgotten them.
struct Neither: AppMigrationExtension {}
