import AppMigrationKit
import Security

/// An error in the app's data. After a failed import, the app shows its text at the first launch.
public enum NotesError: LocalizedError, Equatable {
  case noGroup
  case unknownFormat
  case damagedDatabase(line: Int)
  case unexpectedItem(path: String)
  case credentials(OSStatus)

  public var errorDescription: String? {
    switch self {
    case .noGroup: "There is no group container; 'peer app run' starts Notes with one."
    case .unknownFormat: "A later edition of Notes wrote these notes. Update this edition first."
    case .damagedDatabase(let line): "Line \(line) of the notes cannot be read."
    case .unexpectedItem(let path): "Notes does not expect the item \"\(path)\"."
    case .credentials(let status):
      "The secret cannot be stored or read: \(SecCopyErrorMessageString(status, nil) ?? "error \(status)")"
    }
  }
}
