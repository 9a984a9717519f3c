import AppMigrationKit
import NotesKit

/// The work of the commands.
struct NotesCommands {
  private let files: NotesFiles
  private let settings = UserDefaults.standard
  private let sharedSettings = UserDefaults(suiteName: NotesFiles.groupIdentifier)

  init() throws {
    files = try NotesFiles(
      documents: try FileManager.default.url(
        for: .documentDirectory, in: .userDomainMask, appropriateFor: nil, create: true),
      applicationSupport: try FileManager.default.url(
        for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true))
  }

  func add(_ text: String) throws {
    var database = try database
    database.add(text, created: Date())
    try database.write(to: files.database)
  }

  func attach(_ file: URL) throws {
    try FileManager.default.createDirectory(at: files.media, withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: file, to: files.media.appending(path: file.lastPathComponent))
  }

  func set(_ name: String, to value: String) throws {
    switch name {
    case "sort": settings.set(value, forKey: "sortOrder")
    case "signature": sharedSettings?.set(value, forKey: "signature")
    default: throw UsageError()
    }
    // On Linux, Foundation writes no settings before this call.
    settings.synchronize()
    sharedSettings?.synchronize()
  }

  /// Continues the clip's sign-in: the user needs no second sign-in while the account is
  /// authorized.
  func account() async throws {
    let signIn = SignIn(of: .app)
    guard let user = signIn.user, try await signIn.isAuthorized else {
      print("signed in  no")
      return
    }
    // The clip's secret becomes the app's own.
    let hasSecret = try signIn.takeSecret() != nil
    print("signed in  \(user)\(hasSecret ? "" : ", but the secret is missing")")
  }

  func list() throws {
    let notes = try database.notes
    for note in settings.string(forKey: "sortOrder") == "newest" ? notes.reversed() : notes {
      print("note       \(note.typed)")
    }
    for file in try FileManager.default.items(in: files.media) { print("media      \(file.lastPathComponent)") }
    for file in try FileManager.default.items(in: files.drafts) {
      print("draft      \(try String(contentsOf: file, encoding: .utf8))")
    }
    print("sort       \(settings.string(forKey: "sortOrder") ?? "oldest")")
    print("signature  \(sharedSettings?.string(forKey: "signature") ?? "none")")
  }

  /// The notes in the format of this edition. A database of an earlier edition is upgraded when the
  /// app next writes it.
  private var database: NotesDatabase {
    get throws {
      guard FileManager.default.fileExists(atPath: files.database.path) else {
        return NotesDatabase(format: .ofThisEdition)
      }
      let database = try NotesDatabase(contentsOf: files.database)
      guard database.format <= .ofThisEdition else { throw NotesError.unknownFormat }
      return database.upgraded(to: .ofThisEdition)
    }
  }
}
