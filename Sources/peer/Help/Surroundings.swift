import MigrationHost
import MigrationTransfer

/// The environment variables and files that the program uses.
enum Surroundings {
  /// A variable or a file, and its purpose.
  struct Note: Sendable {
    let name: String
    let text: String
    /// Whether the name begins with a placeholder.
    var isVariable = false

    /// The name for a manual page.
    var styledName: String {
      guard let slash = name.firstIndex(of: "/"), isVariable else { return Roff.bold(name) }
      return "\\fI\(Roff.escaped(name[..<slash]))\\fR" + Roff.bold(name[slash...])
    }
  }

  /// The reason for refusing PEER_HOME.
  static let unfitHome = "PEER_HOME belongs to another user, or other users may write to it"

  static let environment = [
    Note(
      name: "PEER_HOME",
      text: """
        The directory for the program's state: unfinished transfers with their keys, and apps (default: the directory
        peer in XDG_DATA_HOME). Commands fail with exit code 4 if \(unfitHome).
        """),
    Note(
      name: "XDG_DATA_HOME",
      text: """
        The directory that contains the default PEER_HOME, peer, if the path is absolute (default: ~/.local/share).
        """),
    Note(
      name: "XDG_STATE_HOME",
      text: """
        The directory that contains peer/keys with the key of the credentials, if the path is absolute (default:
        ~/.local/state). It must not be inside PEER_HOME.
        """),
    Note(
      name: "HOME",
      text: """
        The user's home directory, ~ in this manual. It is used if one of the other variables is needed and not set.
        """),
    Note(
      name: Peer.debuggable,
      text: """
        With 1, a debugger can attach to the program, and a crash can leave a core file and a trace. Keys, codes and
        data may be in them (default: none of these).
        """),
  ]

  /// The files that a page names.
  static func files(for page: ManualPage) -> [Note] {
    let transfers = [
      Note(
        name: "PEER_HOME/\(TransferStore.folderName)", text: "Unfinished transfers, with their keys.", isVariable: true)
    ]
    let staging = [
      Note(
        name: "DIR/.peer-*",
        text: "The received data of an unfinished transfer. It is removed when the transfer is done or forgotten.",
        isVariable: true)
    ]
    let apps = AppHome.Folder.allCases.map {
      Note(name: "PEER_HOME/\($0.rawValue)", text: $0.summary, isVariable: true)
    }
    let credentials = [
      Note(
        name: "PEER_HOME/credentials", text: "The sealed credentials of apps.", isVariable: true),
      Note(
        name: "PEER_HOME/accounts", text: "The records of users that 'peer account' keeps.", isVariable: true),
      Note(
        name: "~/.local/state/peer/keys",
        text: "The key of the credentials, outside of PEER_HOME: a copy of PEER_HOME alone cannot be opened."),
    ]
    let home = [Note(name: "~/.local/share/peer", text: "PEER_HOME, unless a variable names another directory.")]
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
    case .groups: "The shared data of app groups."
    case .statuses: "The result of the last import into each app."
    case .imports: "The unfinished imports."
    case .staging: "The received data of an app, until it is imported."
    case .replaced: "The data that --replace has set aside, until the import ends."
    case .trash: "Data that is being removed."
    case .locks: "A file for each app, which the process that uses the app has locked."
    }
  }
}
