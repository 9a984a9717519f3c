import AppMigrationKit

/// The migration extension of the app that tests migrate. The requested platform, or else the file
/// `export` in its Documents, decides its way to export. The file `behaviour` in the exported data
/// decides its way to import.
struct TestAppExtension: ResourcesExportingWithOptions, ResourcesImporting {
  enum OptionsType: String, CaseIterable {
    case path
    case names
    case count
  }

  struct Failure: LocalizedError, CustomNSError {
    static let errorDomain = "org.example.test"
    var errorCode = 7
    var errorDescription: String? = "the author's own words"
    var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: errorDescription ?? ""] }
  }

  var documents: URL { appContainer.documentsDirectory }

  var group: URL {
    get throws {
      let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.org.example.test")
      guard let group else { throw Failure(errorCode: 1) }
      return group
    }
  }

  var resourcesSizeEstimate: Int {
    get async {
      let estimate = text("estimate")
      while estimate == "hang" { sleep(1) }
      if estimate == "fail" {
        while text("go") == nil { usleep(10_000) }
        crash()
      }
      return estimate.flatMap { Int($0) } ?? 1 << 20
    }
  }

  var resourcesVersion: String { text("version") ?? "1.0" }
  var resourcesCompressible: Bool { text("compressible") != "no" }

  private let shown = ShownProgress()
  var resourcesImportProgress: Progress { shown.progress }

  /// The content of a file of the app that decides the extension's behaviour.
  private func text(_ name: String) -> String? {
    try? String(contentsOf: documents.appending(path: name), encoding: .utf8)
  }

  func exportResources(
    to archiver: sending ResourcesArchiver, request: MigrationRequestWithOptions<OptionsType>
  ) async throws {
    let options = request.options.mapValues { String(decoding: $0, as: UTF8.self) }
    try await TestExport(documents: documents, group: try group, options: options)
      .run(text("export") ?? request.destinationPlatform.rawValue, archiver)
  }

  func importResources(at url: URL, request: ResourcesImportRequest) async throws {
    print("importing version \(request.sourceVersion) of \(request.sourceAppIdentifier.bundleIdentifier)")
    let behaviour = try? String(contentsOf: url.appending(path: "Documents/behaviour"), encoding: .utf8)
    let files = FileManager.default
    if let way = ShownProgress.Way(rawValue: behaviour ?? "") { try await shown.show(way) }
    switch behaviour ?? "" {
    case "throw":
      try files.moveItem(at: url.appending(path: "Documents/kept"), to: documents.appending(path: "kept"))
      try "half".write(to: try group.appending(path: "half"), atomically: false, encoding: .utf8)
      throw Failure()
    case "crash":
      try files.moveItem(at: url.appending(path: "Documents/kept"), to: documents.appending(path: "kept"))
      crash()
    case "leave": exit(0)
    case "defaults": try UnsavedDefaults.set(in: group)
    case "defaults and leave":
      try UnsavedDefaults.set(in: group)
      exit(0)
    case "stay":
      try files.moveItem(at: url.appending(path: "Documents/kept"), to: documents.appending(path: "kept"))
      shown.advance(to: 50)
      try await Task.sleep(for: .seconds(600))
    case "ignore":
      while true { sleep(1) }
    case "spoil":
      try spoil(url.appending(path: "Documents"))
      throw Failure()
    case "look": look(url)
    case "take nothing": return
    case "no space": throw CocoaError(.fileWriteOutOfSpace)
    // Twenty times the silence after which the test has an importer noted.
    case "pause": try await Task.sleep(for: .seconds(2))
    case "copy": return try copy(url.appending(path: "Documents"))
    case "link out": return try replaceDocuments(by: "/etc")
    case "link inside":
      try files.moveItem(
        at: url.appending(path: "Documents"), to: appContainer.containerRootDirectory.appending(path: "Own"))
      return try replaceDocuments(by: "Own")
    case "origin":
      let origin = request.sourceAppIdentifier
      print("from \(origin.platform.rawValue), '\(origin.storeIdentifier.rawValue)'")
    default: break
    }
    for name in try files.contentsOfDirectory(atPath: url.appending(path: "Documents").path).sorted() {
      try files.moveItem(at: url.appending(path: "Documents/\(name)"), to: documents.appending(path: name))
      shown.advance()
    }
    let shared = url.appending(path: "Group/shared")
    if files.fileExists(atPath: shared.path) {
      try? files.removeItem(at: try group.appending(path: "shared"))
      try files.moveItem(at: shared, to: try group.appending(path: "shared"))
    }
  }

  /// Copies the received items, which needs their space once more.
  private func copy(_ arrived: URL) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: arrived.path).sorted() {
      try FileManager.default.copyItem(at: arrived.appending(path: name), to: documents.appending(path: name))
    }
  }

  private func replaceDocuments(by target: String) throws {
    try FileManager.default.removeItem(at: documents)
    try FileManager.default.createSymbolicLink(atPath: documents.path, withDestinationPath: target)
  }

  /// Replaces received items with other items.
  private func spoil(_ arrived: URL) throws {
    let files = FileManager.default
    let place = { (name: String) in arrived.appending(path: name).path }
    for name in ["fifo", "directory", "link"] { try files.removeItem(atPath: place(name)) }
    guard mkfifo(place("fifo"), 0o600) == 0 else { throw Failure(errorCode: 2) }
    try files.createDirectory(atPath: place("directory/inner"), withIntermediateDirectories: true)
    try files.createSymbolicLink(atPath: place("link"), withDestinationPath: "/etc/passwd")
    try "other".write(toFile: place("changed"), atomically: false, encoding: .utf8)
    chmod(place("closed"), 0)
    try files.moveItem(atPath: place("tree"), toPath: place("elsewhere"))
    try files.createSymbolicLink(atPath: place("tree"), withDestinationPath: documents.path)
    chmod(arrived.path, 0o100)
  }

  /// Tries the actions that the host must deny to an importer, and reports the results.
  private func look(_ arrived: URL) {
    print("read outside: \((try? Data(contentsOf: URL(fileURLWithPath: "/etc/hostname"))) == nil ? "refused" : "DONE")")
    let outside = appContainer.containerRootDirectory.deletingLastPathComponent().appending(path: "made-by-importer")
    print("write outside: \((try? Data().write(to: outside)) == nil ? "refused" : "DONE")")
    let made = documents.appending(path: "made")
    print("write inside: \((try? Data().write(to: made)) == nil ? "REFUSED" : "done")")
    tellMode("outside", outside.deletingLastPathComponent(), 0o711, isAllowed: false)
    tellMode("of the app", URL(fileURLWithPath: CommandLine.arguments[0]), 0o700, isAllowed: false)
    tellMode("inside", made, 0o640, isAllowed: true)
    if let group = try? group { tellMode("of the group", group, 0o700, isAllowed: true) }
    tellMode("of what arrived", arrived.appending(path: "Documents/kept"), 0o640, isAllowed: true)
  }

  private func tellMode(_ what: String, _ place: URL, _ mode: mode_t, isAllowed: Bool) {
    let isDone = chmod(place.path, mode) == 0
    print("mode \(what): \(isDone ? (isAllowed ? "done" : "DONE") : (isAllowed ? "REFUSED" : "refused"))")
  }
}

func crash() -> Never {
  UnsafeMutablePointer<Int>(bitPattern: 16)!.pointee = 1
  fatalError("a wild pointer was written through")
}
