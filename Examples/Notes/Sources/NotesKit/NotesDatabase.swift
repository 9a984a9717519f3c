import AppMigrationKit

/// All notes, in one of the known formats.
public struct NotesDatabase: Equatable, Sendable {
  public let format: DatabaseFormat
  public private(set) var notes: [Note]

  public init(format: DatabaseFormat, notes: [Note] = []) {
    self.format = format
    self.notes = notes
  }

  /// Adds a note from typed text.
  public mutating func add(_ typed: String, created: Date) {
    switch format {
    case .one: notes.append(Note(text: typed))
    case .two: notes.append(Note(typed: typed, created: created))
    }
  }

  /// The same notes in the same or a newer format.
  public func upgraded(to newFormat: DatabaseFormat) -> NotesDatabase {
    switch (format, newFormat) {
    case (.one, .one), (.two, .two): return self
    case (.one, .two): return NotesDatabase(format: .two, notes: notes.map { Note(typed: $0.text) })
    case (.two, .one): preconditionFailure("a database is never converted to an older format")
    }
  }
}
