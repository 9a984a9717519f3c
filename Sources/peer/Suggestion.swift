/// Guesses the intended name for a mistyped one.
enum Suggestion {
  /// The nearest of some names; nil if none is near.
  static func closest(to typed: String, among names: [String]) -> String? {
    let nearest = names.map { (name: $0, distance: distance(typed, $0)) }.min { $0.distance < $1.distance }
    if let nearest, nearest.distance <= max(1, nearest.name.count / 3) { return nearest.name }
    // The beginning of a name is as good as a typing error.
    let begun = names.filter { typed.count > 2 && $0.hasPrefix(typed) }
    return begun.count == 1 ? begun.first : nil
  }

  /// The number of letters to insert, delete, change or swap with their neighbours.
  static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left)
    let right = Array(right)
    var table = [Array(0...right.count)]
    for row in 1..<(left.count + 1) {
      var line = [row]
      for column in 1..<(right.count + 1) {
        let isSame = left[row - 1] == right[column - 1]
        var best = min(table[row - 1][column] + 1, line[column - 1] + 1, table[row - 1][column - 1] + (isSame ? 0 : 1))
        if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
          best = min(best, table[row - 2][column - 2] + 1)
        }
        line.append(best)
      }
      table.append(line)
    }
    return table[left.count][right.count]
  }
}
