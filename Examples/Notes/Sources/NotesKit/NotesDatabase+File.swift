import AppMigrationKit

/// A file has the notes as lines of JSON: the first line names the format, each other line is a
/// note.
extension NotesDatabase {
  private struct Header: Codable { let format: DatabaseFormat }
  private struct OldNote: Codable { let text: String }

  /// Reads a whole database.
  ///
  /// Throws a `NotesError` if a line cannot be read, or if a later edition wrote the file.
  public init(contentsOf url: URL) throws {
    let lines = try Data(contentsOf: url).split(separator: UInt8(ascii: "\n"))
    guard let first = lines.first, let header = try? JSONDecoder().decode(Header.self, from: first) else {
      throw NotesError.unknownFormat
    }
    let notes = try lines.enumerated().dropFirst().map { number, line in
      do {
        return try Self.note(line, header.format)
      } catch {
        throw NotesError.damagedDatabase(line: number + 1)
      }
    }
    self.init(format: header.format, notes: notes)
  }

  /// Replaces the existing file with the whole database.
  public func write(to url: URL) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var lines = [try encoder.encode(Header(format: format))]
    for note in notes {
      switch format {
      case .one: lines.append(try encoder.encode(OldNote(text: note.text)))
      case .two: lines.append(try encoder.encode(note))
      }
    }
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(lines.joined(separator: Data("\n".utf8))).write(to: url, options: .atomic)
  }

  private static func note(_ line: Data, _ format: DatabaseFormat) throws -> Note {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    switch format {
    case .one: return Note(text: try decoder.decode(OldNote.self, from: line).text)
    case .two: return try decoder.decode(Note.self, from: line)
    }
  }
}
