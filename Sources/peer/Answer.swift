import MigrationSystem
import MigrationTransfer

/// The answer of a command that does one thing at once: a text, or why not.
enum Answer {
  /// Writes the answer, and returns the program's exit code.
  static func give(json: Bool, _ body: () throws(TransferFailure) -> Rendering) -> Int32 {
    let (text, code): (Rendering, Int32)
    do {
      (text, code) = (try body(), ExitCode.done)
    } catch {
      var report: any Report = json ? JSONReport() : HumanReport(.sender, on: .log)
      (text, code) = (report.fail(error), ExitCode.of(error))
    }
    StandardStream.error.write(text.standardError)
    StandardStream.output.write(text.standardOutput)
    return code
  }
}

/// Rows of texts, written in columns.
enum Table {
  /// Each column is as wide as it must be; no line ends in blanks.
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
