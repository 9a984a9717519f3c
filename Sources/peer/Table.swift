/// Rows of texts, written in columns.
enum Table {
  /// Each column is as wide as its widest text; no line ends in blanks.
  static func text(_ rows: [[String]]) -> String {
    guard let first = rows.first else { return "" }
    let widths = first.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    let lines = rows.map { row in
      var line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
