import MigrationHost
import MigrationTransfer

/// What the program heeds and keeps outside of its command line.
enum Surroundings {
  /// A variable or a file, and what it is for.
  struct Note: Sendable {
    let name: String
    let text: String
    /// Whether the name begins with one that stands for something else.
    var isVariable = false

    /// The name for a manual page.
    var styledName: String {
      guard let slash = name.firstIndex(of: "/"), isVariable else { return Roff.bold(name) }
      return "\\fI\(Roff.escaped(name[..<slash]))\\fR" + Roff.bold(name[slash...])
    }
  }

  /// Why PEER_HOME is refused.
  static let unfitHome = "PEER_HOME is another user's, or others may write to it"

  static let environment = [
    Note(
      name: "PEER_HOME",
      text: """
        The directory in which the program keeps what it must know from run to run: unfinished transfers with their keys,
        and apps. Commands end with 4 where \(unfitHome).
        """),
    Note(
      name: "XDG_DATA_HOME",
      text: """
        Where PEER_HOME is not set, the directory called peer in this one takes its place, if the path is absolute. Without it:
        ~/.local/share.
        """),
    Note(
      name: "XDG_STATE_HOME",
      text: """
        The directory with peer/keys, where the key of the credentials is, if the path is absolute. Without it:
        ~/.local/state. It must not be in PEER_HOME.
        """),
    Note(
      name: "HOME",
      text: "The directory of the user, ~ in this manual. It counts where one of the others is needed and not set."),
  ]

  /// What is kept, as far as it concerns a page.
  static func files(for page: ManualPage) -> [Note] {
    let transfers = [
      Note(
        name: "PEER_HOME/\(TransferStore.folderName)", text: "Unfinished transfers, with their keys.", isVariable: true)
    ]
    let staging = [
      Note(
        name: "DIR/.peer-*",
        text: "What has arrived of a transfer that is not over. It goes when the transfer is done or forgotten.",
        isVariable: true)
    ]
    let apps = AppHome.Folder.allCases.map {
      Note(name: "PEER_HOME/\($0.rawValue)", text: $0.summary, isVariable: true)
    }
    let credentials = [
      Note(
        name: "PEER_HOME/credentials", text: "What apps have stored in secret, sealed.", isVariable: true),
      Note(
        name: "PEER_HOME/accounts", text: "What 'peer account' has recorded of users.", isVariable: true),
      Note(
        name: "~/.local/state/peer/keys",
        text: "The key of the credentials, outside of PEER_HOME: who has a copy of that alone cannot open them."),
    ]
    let home = [Note(name: "~/.local/share/peer", text: "PEER_HOME, where no variable names another.")]
    return switch page {
    case .peer: home + transfers + staging + apps + credentials
    case .receive: home + transfers + staging
    case .send: home + transfers
    case .app: home + apps + credentials
    }
  }
}

extension AppHome.Folder {
  fileprivate var summary: String {
    switch self {
    case .apps: "The bundles of the apps."
    case .containers: "The data of each app."
    case .groups: "What the apps of a group share."
    case .statuses: "How the last import into each app ended."
    case .imports: "Which imports are not over."
    case .staging: "What has arrived of an app's data, until it is imported."
    case .replaced: "The data that an app had before an import that is not over, as --replace set it aside."
    case .trash: "Data that is being removed."
    case .locks: "A file for each app, which the process that uses the app has locked."
    }
  }
}
