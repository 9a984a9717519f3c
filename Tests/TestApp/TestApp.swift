import AppMigrationKit

/// The program of the app that tests migrate. It shows and changes its data.
@main enum TestApp {
  static let group = "group.org.example.test"

  static func main() throws {
    let words = CommandLine.arguments.dropFirst()
    switch words.first {
    case "status": print(status)
    case "clear": MigrationStatus.clearImportStatus()
    case "write": try write(Array(words.dropFirst()))
    case "read": print(try String(contentsOf: home.appending(path: words.dropFirst().joined()), encoding: .utf8))
    case "set": set(Array(words.dropFirst()))
    case "keep", "keep and exit": keep(Array(words))
    case "tester": tester()
    case "credentials": credentials()
    case "get": print(get(Array(words.dropFirst())))
    case "group": print(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)?.path ?? "none")
    case "stay":
      FileHandle.standardOutput.write(Data("here\n".utf8))
      while true { sleep(1) }
    default: print("unknown command")
    }
  }

  private static let home = URL(fileURLWithPath: NSHomeDirectory())

  private static var status: String {
    switch MigrationStatus.importStatus {
    case nil: "none"
    case .success: "success"
    case .failure(let error as NSError): "failure \(error.domain) \(error.code) \(error.localizedDescription)"
    }
  }

  private static func write(_ words: [String]) throws {
    let file = home.appending(path: words[0])
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try words[1].write(to: file, atomically: false, encoding: .utf8)
  }

  private static func set(_ words: [String]) {
    let defaults = UserDefaults(suiteName: words[0])
    defaults?.set(words[2], forKey: words[1])
    _ = defaults?.synchronize()
  }

  private static func get(_ words: [String]) -> String {
    UserDefaults(suiteName: words[0])?.string(forKey: words[1]) ?? "nothing"
  }
}
