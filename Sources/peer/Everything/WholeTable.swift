import MigrationApps
import MigrationSystem

/// A table that a terminal shows at once, and whose sizes change in place.
struct WholeTable {
  private let choice: PlanChoice
  private let columns: Int
  private let rows: Int
  /// How many lines are shown above the cursor; nil before the first ones.
  private var drawn: Int?

  /// `rows` is the height of the terminal.
  init(_ choice: PlanChoice, columns: Int, rows: Int) {
    self.choice = choice
    self.columns = columns
    self.rows = rows
  }

  /// Draws the table anew, with a line below that tells which entry is measured next; false if it has
  /// no room. Once it is shown it stays, also if notes make it longer.
  mutating func draw(_ inventory: Inventory, measuring next: Int?) -> Bool {
    let text = PlanTable(inventory, choice).text(columns: columns)
    let lines = text.utf8.count { $0 == UInt8(ascii: "\n") }
    guard drawn != nil || lines + 4 < rows else { return false }
    let count = inventory.entries.count
    let up = drawn.map { $0 > 0 ? "\u{1B}[\($0)A" : "" } ?? ""
    let below = next.map { "Measuring \(min($0, count)) of \(count)" } ?? ""
    // Line by line: a terminal may keep what is erased as a whole among the earlier lines.
    let erasing = text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\u{1B}[K\n")
    StandardStream.error.write("\r\(up)\(erasing)\u{1B}[J\(below)")
    drawn = lines
    return true
  }
}
