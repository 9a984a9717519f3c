import MigrationWire

/// Rows of a name and its figures, as wide as the terminal: narrow ones show fewer figures, and cut
/// names.
struct SizedRows {
  /// A line of the table.
  enum Row {
    /// A line of its own over the rows that follow.
    case heading(String)
    /// `mark` stands before the name. A size that is not known yet is an ellipsis.
    case item(mark: String, name: String, items: UInt64?, bytes: UInt64?, note: String?)
    /// Sentences below a row, indented.
    case detail(String)
    /// A command or a name to paste, indented: in one line, however long, and never changed.
    case verbatim(String)
  }

  private var rows: [Row] = []

  mutating func append(_ row: Row) { rows.append(row) }

  /// From this width on, items are counted.
  private static let roomy = 56
  private static let sizeWidth = 8
  private static let itemsWidth = 11

  /// The lines. The last column stays free.
  func text(columns: Int) -> String {
    let room = max(24, columns - 1)
    let marks = rows.map { if case .item(let mark, _, _, _, _) = $0 { mark.count } else { 0 } }.max() ?? 0
    let figures = Self.sizeWidth + (room >= Self.roomy ? Self.itemsWidth : 0)
    let names = rows.map { if case .item(_, let name, _, _, _) = $0 { Self.columns(of: name) } else { 0 } }.max() ?? 0
    let width = min(names, max(8, room - marks - 4 - figures))
    let texts = rows.map { row in
      switch row {
      case .heading(let text): return Self.wrapped(text, indent: 0, room)
      case .detail(let text): return Self.wrapped(text, indent: marks + 2, room)
      case .verbatim(let text): return String(repeating: " ", count: marks + 2) + text + "\n"
      case .item(let mark, let name, let items, let bytes, let note):
        var line = mark + String(repeating: " ", count: marks - mark.count) + "  " + Self.cut(name, to: width)
        line += String(repeating: " ", count: max(0, marks + 2 + width - Self.columns(of: line)))
        if room >= Self.roomy { line += Figures.padded(items.map(Figures.count) ?? "", to: Self.itemsWidth) }
        line += Figures.padded(bytes.map(Figures.size) ?? "…", to: Self.sizeWidth + 2)
        guard let note else { return line + "\n" }
        if Self.columns(of: line) + 2 + note.count <= room { return "\(line)  \(note)\n" }
        return line + "\n" + Self.wrapped(note, indent: marks + 2, room)
      }
    }
    return texts.joined()
  }

  /// A text in lines of its own, indented; a word that is too long for a line is not divided, so that
  /// it can be pasted.
  static func wrapped(_ text: String, indent: Int, _ room: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    return TextWrapping.lines(TextWrapping.words(text), columns: room - indent).map { margin + $0 + "\n" }.joined()
  }

  /// The start of a name that is too long.
  static func cut(_ name: String, to width: Int) -> String {
    guard columns(of: name) > width else { return name }
    var room = width - 1
    return name.prefix { character in
      room -= columns(of: character)
      return room >= 0
    } + "…"
  }

  /// How many columns a terminal needs for a text.
  static func columns(of text: String) -> Int {
    text.utf8.count == text.count ? text.count : text.reduce(0) { $0 + columns(of: $1) }
  }

  /// Characters of East Asia and pictures are two columns wide.
  private static func columns(of character: Character) -> Int {
    let isWide = character.unicodeScalars.contains { scalar in wide.contains { $0.contains(scalar.value) } }
    return isWide ? 2 : 1
  }

  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60,
    0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
  ]
}
