import MigrationHost
import MigrationTransfer
import MigrationWire

/// The description of the program as a whole.
enum Overview {
  static let summary = "move files, folders and the data of apps from one device to another"

  static let text = """
    peer moves files and folders from one device to another, over an encrypted connection directly between the two. The
    new device shows an address and a code; the old device asks for the code and sends.
    """

  static let example = """
      new$ peer receive ~/Incoming
      On the other device:  peer send PATH... --to 192.0.2.7
                  or just:  peer send PATH...   (same network)
      Code: 4829-1367   (works once, for 10 minutes)

      old$ peer send Documents Pictures
      Found new-laptop (192.0.2.7).
      Code shown on new-laptop (192.0.2.7): 4829-1367
    """

  /// The answer to no command at all.
  static let short = """
    peer moves files, folders and the data of apps from one computer to another.
      peer assistant       the move to a new computer, on a page in your browser
      peer receive [DIR]   at the computer that receives; it shows a code
      peer send PATH...    at the other one; it asks for the code
    'peer help' lists all commands, and 'peer help COMMAND' describes one.

    """

  static let resuming = "To resume an interrupted transfer, run its command again."

  /// The commands that do something, in the order of the overview.
  static var commands: [Verb] { Verb.allCases.filter(\.members.isEmpty) }

  static let help = Option.help("List the commands.")

  /// The options that are given without a command.
  static let options: [Option] = [
    .flag(
      "--version",
      """
      Show the version. With --verbose after it, also what a report of an error needs: the versions of libraries and
      kernel, the file systems, and how this system confines processes; no names, paths or addresses.
      """), help,
  ]

  /// The word that may follow `--version`.
  static let verbose = Option.flag("--verbose", "Show also what a report of an error needs.")
}

/// The exit codes of a command, and their meanings.
struct ExitCodeTable: Sendable {
  struct Code: Sendable {
    let number: Int
    /// A clause, or several clauses with semicolons.
    let meaning: String
    /// Whether the received data is kept.
    var isKept = false
  }

  /// Other codes, named before the first code.
  var others: String?
  let codes: [Code]

  init(others: String? = nil, _ codes: Code...) {
    self.others = others
    self.codes = codes
  }

  /// Whether there are so many that they stand one below the other.
  var isTable: Bool { codes.contains { $0.isKept } }

  /// A few codes as one sentence.
  var sentence: String {
    let codes = codes.map { "\($0.number) \($0.meaning)" }.joined(separator: "; ")
    return (others.map { "\($0); or " } ?? "") + codes + "."
  }

  /// The meaning of the mark at some codes.
  static let kept = "The received data is kept. The same command resumes the transfer."

  /// The codes of a command without others.
  static let usual = ExitCodeTable(
    .done, .failed, Code(number: 2, meaning: "invalid command line, or nothing has a name in it"),
    Code(number: 4, meaning: "what it is about is in use or cannot be used, or \(Surroundings.unfitHome)"),
    .noSpaceLeft, .interrupted, .terminated)

  /// The codes of a transfer.
  static let transfer = ExitCodeTable(
    Code(number: 0, meaning: "done"),
    Code(
      number: 1,
      meaning: """
        failed, here or on the other device; after a disk error, the received data is kept: repair the disk, then resume with
        the same command
        """),
    Code(number: 2, meaning: "invalid command line"),
    Code(number: 3, meaning: "the devices are not paired: no code, a wrong code, or another device"),
    Code(
      number: 4,
      meaning: "refused by the other device, or the destination, an app's extension or PEER_HOME cannot be used"),
    Code(
      number: 5, meaning: "the connection was lost, or the other device's user interrupted the transfer", isKept: true),
    Code(number: 6, meaning: "not enough space", isKept: true),
    Code(number: 7, meaning: "all data has arrived, but could not be put in place"),
    Code(
      number: 8,
      meaning: """
        done, but some items could not be sent or stored; sockets, FIFOs and devices are never sent, and count only in
        an app's data
        """),
    Code(number: 9, meaning: "the source could not be read completely", isKept: true),
    Code(number: 10, meaning: "the other device serves others first", isKept: true),
    Code(number: 130, meaning: "interrupted by Ctrl-C", isKept: true),
    Code(number: 143, meaning: "terminated by SIGTERM", isKept: true))
}

/// The environment variables and files that the program uses.
enum Surroundings {
  /// A variable or a file, and its purpose.
  struct Note: Sendable {
    let name: String
    let text: String
  }

  /// The reason for refusing PEER_HOME.
  static let unfitHome = "PEER_HOME belongs to another user, or other users may write to it"

  static let environment = [
    Note(
      name: "PEER_HOME",
      text: """
        The directory for the program's state: unfinished transfers with their keys, and apps (default: the directory
        peer in XDG_DATA_HOME). Commands fail with exit code 4 if \(unfitHome), and transfers if they cannot write to it.
        """),
    Note(
      name: Via.variable,
      text: """
        The relay of this device, as HOST[:PORT]: 'peer receive' waits there too, and 'peer send' without --to tries the
        network first and the relay second (default: none).
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
        The user's home directory, ~ in this manual (default: that of the password file). It is used if one of the other
        variables is needed and not set.
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
        name: "PEER_HOME/\(TransferStore.folderName)", text: "Unfinished transfers, with their keys.")
    ]
    let relays = [
      Note(name: "PEER_HOME/\(Via.folderName)", text: "The tokens of relays.")
    ]
    let lists = { (role: Role) in
      Note(
        name: "PEER_HOME/\(ItemList.File.name(role))",
        text: "The items that the last such transfer did not send, store or name as they were, if there were many.")
    }
    let staging = [
      Note(
        name: "DIR/.peer-*",
        text: "The received data of an unfinished transfer. It is removed when the transfer is done or forgotten.")
    ]
    let apps = AppHome.Folder.allCases.map {
      Note(name: "PEER_HOME/\($0.rawValue)", text: $0.summary)
    }
    let credentials = [
      Note(
        name: "PEER_HOME/credentials", text: "The sealed credentials of apps."),
      Note(
        name: "PEER_HOME/accounts", text: "The records of users that 'peer account' keeps."),
      Note(
        name: "~/.local/state/peer/keys",
        text: "The key of the credentials, outside of PEER_HOME: a copy of PEER_HOME alone cannot be opened."),
    ]
    let home = [Note(name: "~/.local/share/peer", text: "PEER_HOME, unless a variable names another directory.")]
    return switch page {
    case .peer: home + transfers + relays + staging + apps + credentials
    case .receive: home + transfers + relays + [lists(.receiver)] + staging
    case .send: home + transfers + relays + [lists(.sender)]
    case .relay: []
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
    case .earlier: "The data that imports with --replace have replaced."
    case .trash: "Data that is being removed."
    case .locks: "A file for each app, which the process that uses the app has locked."
    }
  }
}
