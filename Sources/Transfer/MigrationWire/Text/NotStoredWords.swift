extension NotStored {
  /// The reason as a clause about the item, with the system's error, or with what this device knows
  /// besides.
  package func clause(_ note: String? = nil) -> String {
    detail(note).map { "\(reason.words) (\($0))" } ?? reason.words
  }

  /// This device's note besides the reason, or the words for the system's error.
  package func detail(_ note: String?) -> String? { note ?? error.map(ErrorWords.of) }
}

extension NotStored.Reason {
  /// The reason as a clause.
  package var words: String {
    switch self {
    case .vanished: "vanished before it was sent"
    case .unreadable: "cannot be read"
    case .keepsChanging: "kept changing while it was read"
    case .notSendable: "is not a file, folder or link"
    case .beyondLimits: "is too long or too deep to be sent"
    case .replaced: "was replaced by something else before it was sent"
    case .torn: "kept changing while what belongs to it was sent"
    case .madeLater: "was made after its folder had been listed"
    case .attributes: "has attributes that are too long, or of an unknown form"
    case .nameNotAllowed: "the destination does not allow such a name"
    case .nameTooLong: "the name is too long for the destination"
    case .nameTaken: "the destination takes the name for that of another item"
    case .kindNotSupported: "the destination has nothing of this kind"
    case .tooLarge: "the file is too large for the destination"
    case .targetTooLong: "the link's target is too long for the destination"
    case .directoryNotStored: "its folder is not stored"
    case .targetNotStored: "the file that it is another name of is not stored"
    case .differs: "its content at the destination is not what was sent"
    case .contentUnknown: "only its metadata was sent, and the destination does not have its content"
    case .noPlace: "the destination has no place for it, or something else is there"
    case .baseChanged: "its earlier version at the destination was changed meanwhile; send it again"
    case .notTaken: "programs may run it there, or it is a secret, and the receiving user does not take that"
    case .existsAndDiffers: "exists at the destination and differs"
    case .existingKept: "an existing item has this name and is kept"
    case .removedThere: "it was moved or removed at the destination after an earlier version had arrived"
    default: party == .sender ? "could not be sent" : "it is not stored"
    }
  }

  /// The reason's name in JSON.
  package var name: String {
    switch self {
    case .vanished: "vanished"
    case .unreadable: "unreadable"
    case .keepsChanging: "keepsChanging"
    case .notSendable: "notSendable"
    case .beyondLimits: "beyondLimits"
    case .replaced: "replaced"
    case .torn: "torn"
    case .madeLater: "madeLater"
    case .attributes: "attributes"
    case .nameNotAllowed: "nameNotAllowed"
    case .nameTooLong: "nameTooLong"
    case .nameTaken: "nameTaken"
    case .kindNotSupported: "kindNotSupported"
    case .tooLarge: "tooLarge"
    case .targetTooLong: "targetTooLong"
    case .directoryNotStored: "directoryNotStored"
    case .targetNotStored: "targetNotStored"
    case .differs: "differs"
    case .contentUnknown: "contentUnknown"
    case .noPlace: "noPlace"
    case .baseChanged: "baseChanged"
    case .notTaken: "notTaken"
    case .existsAndDiffers: "existsAndDiffers"
    case .existingKept: "existingKept"
    case .removedThere: "removedThere"
    default: "other"
    }
  }
}

/// Words for the errors of a system by Linux's numbers, which are the same at both ends (Protocol §10.1).
package enum ErrorWords {
  /// The words for a number; the number where there are none.
  package static func of(_ number: UInt16) -> String { common[number] ?? "error \(number) of the system" }

  private static let common: [UInt16: String] = [
    1: "Operation not permitted", 2: "No such file or directory", 4: "Interrupted system call", 5: "Input/output error",
    6: "No such device or address", 9: "Bad file descriptor", 11: "Resource temporarily unavailable",
    12: "Cannot allocate memory", 13: "Permission denied", 16: "Device or resource busy", 17: "File exists",
    18: "Invalid cross-device link", 19: "No such device", 20: "Not a directory", 21: "Is a directory",
    22: "Invalid argument", 23: "Too many open files in system", 24: "Too many open files", 26: "Text file busy",
    27: "File too large", 28: "No space left on device", 30: "Read-only file system", 31: "Too many links",
    36: "File name too long", 39: "Directory not empty", 40: "Too many levels of symbolic links",
    61: "No data available", 75: "Value too large for defined data type",
    84: "Invalid or incomplete multibyte or wide character",
    95: "Operation not supported", 107: "Transport endpoint is not connected", 110: "Connection timed out",
    116: "Stale file handle", 117: "Structure needs cleaning", 121: "Remote I/O error", 122: "Disk quota exceeded",
  ]
}
