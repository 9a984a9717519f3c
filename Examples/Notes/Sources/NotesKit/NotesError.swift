import AppMigrationKit
import Security

/// What can be wrong with the app's data. After an import that failed, the app shows these words at its first launch.
public enum NotesError: LocalizedError, Equatable {
  case noGroup
  case unknownFormat
  case damagedDatabase(line: Int)
  case unexpectedItem(path: String)
  case credentials(OSStatus)

  public var errorDescription: String? {
    switch self {
    case .noGroup: "There is no group container; 'peer app run' starts Notes with one."
    case .unknownFormat: "The notes are of a later edition of Notes. Update this one first."
    case .damagedDatabase(let line): "Line \(line) of the notes cannot be read."
    case .unexpectedItem(let path): "\"\(path)\" is not what Notes keeps in that place."
    case .credentials(let status):
      "The secret cannot be kept or read: \(SecCopyErrorMessageString(status, nil) ?? "error \(status)")"
    }
  }
}
