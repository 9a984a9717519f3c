import AppMigrationKit
import NotesKit

/// The clip, which can write a first draft and sign in. The app finds the draft and the sign-in.
@main
enum NotesClip {
  private static let usage = """
    usage: NotesClip draft TEXT    keeps a draft
           NotesClip sign-in USER  stores the user's secret for the notes' service, read from a line of standard input
    """

  static func main() {
    do {
      switch Array(CommandLine.arguments.dropFirst()) {
      case let words where words.count == 2 && words[0] == "draft": try NotesFiles.keepDraft(words[1])
      case let words where words.count == 2 && words[0] == "sign-in":
        try SignIn(of: .clip).begin(user: words[1], secret: readLine() ?? "")
      default:
        complain(usage)
        exit(2)
      }
    } catch {
      complain("NotesClip: \(error.localizedDescription)")
      exit(1)
    }
  }

  private static func complain(_ sentence: String) {
    FileHandle.standardError.write(Data("\(sentence)\n".utf8))
  }
}
