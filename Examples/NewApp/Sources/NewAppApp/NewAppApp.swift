import AppMigrationKit
import NewAppData

/// The app: notes in its Documents, and a title in its settings.
@main
enum NewAppApp {
  static let usage = """
    usage: NewAppApp add TEXT     adds a note
           NewAppApp title TEXT   sets the title
           NewAppApp list         shows both
    """

  static func main() throws {
    greet()
    let documents = try FileManager.default.url(
      for: .documentDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
    var notes = try Notes(in: documents)
    let words = CommandLine.arguments.dropFirst()
    switch (words.first, words.dropFirst().joined(separator: " ")) {
    case ("add", let text) where !text.isEmpty:
      notes.lines.append(text)
      try notes.write(in: documents)
    case ("title", let text) where !text.isEmpty:
      UserDefaults.standard.set(text, forKey: Settings.title)
    case ("list", ""):
      print(UserDefaults.standard.string(forKey: Settings.title) ?? "Notes")
      for line in notes.lines { print("- \(line)") }
    default:
      print(usage)
      exit(2)
    }
  }

  /// Reports the result of the migration, at the first start after it.
  private static func greet() {
    switch MigrationStatus.importStatus {
    case nil: return
    case .success: print("Welcome back! Your notes have moved to this device.")
    case .failure(let error): print("Your notes did not arrive: \(error.localizedDescription)")
    }
    MigrationStatus.clearImportStatus()
  }
}
