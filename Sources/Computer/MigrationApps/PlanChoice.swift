package import MigrationWire

/// The entries of an inventory that move.
package struct PlanChoice: Equatable, Sendable {
  private(set) var chosen: [Bool]
  /// The positions of the apps, in the order in which they move.
  private(set) var apps: [Int]

  /// The entries that move by default.
  package init(_ inventory: Inventory) {
    chosen = inventory.entries.map(\.isTicked)
    apps = inventory.entries.indices.filter { inventory.entries[$0].app != nil }
  }

  /// Whether the entry at a position moves.
  package func contains(_ entry: Int) -> Bool { chosen[entry] }

  /// The names of the apps that do not move, although the data of an entry that moves needs them.
  package func unmetNeeds(of entry: Int, in inventory: Inventory) -> [String] {
    guard chosen[entry], let needs = inventory.entries[entry].app?.needs, !needs.isEmpty else { return [] }
    return apps.filter { !chosen[$0] }.compactMap { inventory.entries[$0].app }
      .filter { needs.contains($0.identifier) }.map(\.name)
  }

  /// Applies the answer of a person: numbers and ranges to leave out, such as `3, 5-7`; with a plus
  /// sign, such as `+9`, to take. An answer with a mistake changes nothing.
  package mutating func apply(_ answer: String) throws(Failure) {
    var next = chosen
    for word in answer.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
      let isTaken = word.first == "+"
      let ends = (isTaken ? word.dropFirst() : word).split(separator: "-", omittingEmptySubsequences: false)
      let numbers = ends.compactMap { $0.allSatisfy(\.isASCII) && $0.allSatisfy(\.isNumber) ? Int($0) : nil }
      guard numbers.count == ends.count, (1...2).contains(numbers.count), let first = numbers.first,
        let last = numbers.last, 1 <= first, first <= last, last <= chosen.count
      else {
        throw Failure(
          .usage, "\(VisibleText.quoted(String(word))) names no entry of the list",
          hint: "Type numbers from 1 to \(chosen.count), such as: 3, 5-7")
      }
      for number in first...last { next[number - 1] = isTaken }
    }
    chosen = next
  }

  /// The same with names between the commas, too.
  package mutating func apply(_ answer: String, in inventory: Inventory) throws(Failure) {
    let words = answer.split(separator: ",").map { word in
      let name = word.drop { $0 == " " || $0 == "+" }.reversed().drop { $0 == " " }.reversed()
      let numbers = inventory.entries.indices.filter { inventory.entries[$0].isCalled(String(name)) }
      let sign = word.contains("+") ? "+" : ""
      return numbers.isEmpty ? String(word) : numbers.map { "\(sign)\($0 + 1)" }.joined(separator: ",")
    }
    try apply(words.joined(separator: ","))
  }

  /// Leaves out the entries with a name: a path relative to the home, the key of a folder, or the
  /// name or the identifier of an app.
  package mutating func skip(_ name: [UInt8], in inventory: Inventory) throws(Failure) {
    let trimmed = name.last == UInt8(ascii: "/") ? name.dropLast() : name
    let found = inventory.entries.indices.filter { inventory.entries[$0].answers(to: trimmed) }
    guard !found.isEmpty else {
      throw Failure(
        .usage, "nothing to move has the name \(VisibleText.quoted(name))",
        hint: "'peer send --everything --dry-run' lists the names.")
    }
    for entry in found { chosen[entry] = false }
  }

  /// Takes of all apps only these, in this order; `all` takes every app.
  package mutating func take(apps names: [String], in inventory: Inventory) throws(Failure) {
    var order: [Int] = []
    var isTaken = [Bool](repeating: false, count: chosen.count)
    let apps = apps.sorted()
    for name in names {
      let found = apps.filter { name == "all" || inventory.entries[$0].app?.identifier == name }
      guard !found.isEmpty || name == "all" else {
        throw Failure(
          .usage, "there is no app \(VisibleText.quoted(name)) to move",
          hint: "'peer send --everything --dry-run' lists the apps.")
      }
      for app in found where !isTaken[app] {
        order.append(app)
        isTaken[app] = true
      }
    }
    for app in apps { chosen[app] = isTaken[app] }
    self.apps = order + apps.filter { !isTaken[$0] }
  }
}
