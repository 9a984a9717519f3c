import AppMigrationKit
import NotesKit

/// The app: a few commands, and data of each kind that an app has.
@main
enum NotesApp {
  static let usage = """
    usage: notes add TEXT       adds a note; words that begin with # are its tags
           notes attach FILE    copies a file to the media
           notes draft TEXT     keeps a draft for every app of the group
           notes set NAME TEXT  sets "sort" (oldest, newest), or "signature" for every app of the group
           notes account        shows the signed-in user, also after a sign-in by the clip
           notes list           shows everything
    """

  static func main() async {
    do {
      if let greeting = Greeting.afterMigration() { print(greeting) }
      let app = try NotesCommands()
      switch Array(CommandLine.arguments.dropFirst()) {
      case let words where words.count == 2 && words[0] == "add": try app.add(words[1])
      case let words where words.count == 2 && words[0] == "attach": try app.attach(URL(filePath: words[1]))
      case let words where words.count == 2 && words[0] == "draft": try NotesFiles.keepDraft(words[1])
      case let words where words.count == 3 && words[0] == "set": try app.set(words[1], to: words[2])
      case ["account"]: try await app.account()
      case ["list"]: try app.list()
      default: throw UsageError()
      }
    } catch {
      complain(error.localizedDescription)
      exit(error is UsageError ? 2 : 1)
    }
  }

  private static func complain(_ sentence: String) {
    FileHandle.standardError.write(Data("notes: \(sentence)\n".utf8))
  }
}

struct UsageError: LocalizedError {
  var errorDescription: String? { NotesApp.usage }
}
