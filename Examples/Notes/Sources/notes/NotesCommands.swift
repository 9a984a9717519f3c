import AppMigrationKit
import NotesKit

/// What the commands do.
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
    // On Linux nothing is written before this.
    settings.synchronize()
    sharedSettings?.synchronize()
  }

  /// Goes on where the clip has stopped: no second sign-in, while the account stands.
  func account() async throws {
    let signIn = SignIn(of: .app)
    guard let user = signIn.user, try await signIn.isAuthorized else {
      print("signed in  no")
      return
    }
    // What the clip has stored becomes the app's own.
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

  /// The notes in the format of this edition; a database of an earlier one is upgraded when it is written next.
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
