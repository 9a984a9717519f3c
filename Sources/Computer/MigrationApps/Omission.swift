import MigrationWire

/// An item of a home that does not move, and why; the user sees the list.
package struct Omission: Equatable, Sendable {
  package enum Reason: Equatable, Sendable {
    case ownRecords
    case unfinishedTransfer
    case otherFileSystem
    case cache
    case trash
    case encrypted
    case session
    case programs
    case boundToDevice
    case notSendable
    case system
    case crontab
    case unreadable(String)
    /// It is newer than the plan of an earlier run, and in none of its parts. With a part, it is in
    /// that part, and counts only if the earlier run has brought the part.
    case newer(part: UInt16?)

    /// A clause for people.
    package var clause: String {
      switch self {
      case .ownRecords: "the records of peer on this computer"
      case .unfinishedTransfer: "an unfinished transfer of peer"
      case .otherFileSystem: "another file system is mounted there"
      case .cache: "a cache, which programs make again"
      case .trash: "the trash"
      case .encrypted: "the encrypted form of files that move in their readable form"
      case .session: "only of the current session"
      case .programs: "installed programs, which are installed again"
      case .boundToDevice: "bound to this computer"
      case .notSendable: "a socket, a pipe or a device"
      case .system: "the system's settings, such as users, networks and printers, are set up anew"
      case .crontab:
        "your jobs of cron; to save them in a new file that moves, for 'crontab -e' on the new computer, run the command below"
      case .unreadable(let words): "it cannot be read: \(words)"
      case .newer:
        "it has changed since the move began that this run continues, and follows in the next run; leave out what cannot arrive with --skip"
      }
    }
  }

  /// Whether it is missing only until the next run.
  package var isNewer: Bool { if case .newer = reason { true } else { false } }

  /// A command to paste.
  package var command: String? { if case .crontab = reason { DataHint.savingCrontab.text } else { nil } }

  /// Relative to the home; for an item outside the home, absolute or a name.
  package let path: [UInt8]
  package let reason: Reason
  /// Nil where it was not measured.
  package let size: EntrySize?

  package init(_ path: [UInt8], _ reason: Reason, size: EntrySize? = nil) {
    self.path = path
    self.reason = reason
    self.size = size
  }
}

extension Omission {
  /// The system has it, and no home.
  package static let system = Omission(Array("/etc".utf8), .system)
  /// The user's jobs of cron(8).
  package static let crontab = Omission(Array("crontab".utf8), .crontab)

  /// The items of every home that do not move, by their paths.
  static let known: [Omission] = paths.map { Omission(Array($0.0.utf8), $0.1) }

  private static let paths: [(String, Reason)] = [
    (".Private", .encrypted), (".ecryptfs", .encrypted), (".ICEauthority", .session), (".Xauthority", .session),
    (".cache", .cache), (".thumbnails", .cache), (".dbus", .session), (".gvfs", .otherFileSystem),
    (".xsession-errors", .session), (".xsession-errors.old", .session), ("lost+found", .session),
    (".local/share/Trash", .trash), (".Trash", .trash), (".local/share/containers/storage", .boundToDevice),
    (".local/share/flatpak/app", .programs), (".local/share/flatpak/appstream", .cache),
    (".local/share/flatpak/exports", .programs), (".local/share/flatpak/repo", .programs),
    (".local/share/flatpak/runtime", .programs),
  ]

  /// The patterns of items that move with no folder: the staging folders of unfinished transfers, and
  /// the trash of a mounted disk.
  static let patterns = [
    ".peer-" + String(repeating: "[0-9a-f]", count: 32) + "*", ".Trash-[0-9]*/",
  ].map { Array($0.utf8) }

  /// Whether a directory that is left out is the trash of a mounted disk.
  static func isTrash(_ path: [UInt8]) -> Bool {
    let name = path.split(separator: UInt8(ascii: "/")).last ?? []
    return name.starts(with: Array(".Trash-".utf8))
  }
}
