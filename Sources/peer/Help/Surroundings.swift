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

  static let environment = [
    Note(
      name: "PEER_HOME",
      text: """
        The directory in which the program keeps what it must know from run to run: unfinished transfers with their keys,
        and apps. One that is another user's, or that others may write to, is refused with 4.
        """),
    Note(
      name: "XDG_DATA_HOME",
      text: """
        Where PEER_HOME is not set, the directory 'peer' in this one takes its place, if the path is absolute. Without it:
        ~/.local/share.
        """),
    Note(
      name: "HOME", text: "The directory of the user, ~ in this manual. It counts where neither of the others is set."),
  ]

  /// What is kept, as far as it concerns a page.
  static func files(for page: ManualPage) -> [Note] {
    let transfers = [
      Note(name: "PEER_HOME/transfers", text: "Unfinished transfers, with their keys.", isVariable: true)
    ]
    let staging = [
      Note(
        name: "DIR/.peer-*",
        text: "What has arrived of a transfer that is not over. It goes when the transfer is done or forgotten.",
        isVariable: true)
    ]
    let apps = [
      Note(name: "PEER_HOME/apps", text: "The bundles of the apps.", isVariable: true),
      Note(name: "PEER_HOME/containers", text: "The data of each app.", isVariable: true),
      Note(name: "PEER_HOME/groups", text: "What the apps of a group share.", isVariable: true),
    ]
    let home = [Note(name: "~/.local/share/peer", text: "PEER_HOME, where no variable names another.")]
    return switch page {
    case .peer: home + transfers + staging + apps
    case .receive: home + transfers + staging
    case .send: home + transfers
    case .app: home + apps
    }
  }
}
