import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// Measures the entries of a home, for a person or a program that waits for them.
extension ChosenEverything {
  /// The shortest pause between two lines that say how far it is.
  private static let pause = Duration.milliseconds(100)

  /// Measures the entries; a line at a terminal says how far that is. With `table`, a person then sees them all.
  mutating func measure(showing table: Bool, until stop: StopSignal) throws(Failure) {
    let count = inventory.entries.count
    let isShown = !options.json && Terminal.isTerminal(StandardStream.error.rawValue)
    func show(_ line: String) {
      if isShown { StandardStream.error.write("\r\u{1B}[2K\(line)") }
    }
    do {
      defer { show("") }
      show("Measuring 1 of \(count)")
      var next = BootInstant.now() + Self.pause
      try measure(until: stop) { index, _ in
        guard BootInstant.now() >= next else { return }
        next = .now() + Self.pause
        show("Measuring \(min(index + 2, count)) of \(count)")
      }
    }
    let columns = Terminal.width(StandardStream.error.rawValue) ?? 80
    if table { Questioner()?.write(PlanTable(inventory: inventory, choice: choice).text(columns: columns)) }
  }

  /// Measures the entries, and tells a program what there is and the size of each as soon as it is
  /// known.
  mutating func measure(telling questioner: ProgramQuestioner, until stop: StopSignal) throws(Failure) {
    questioner.tell("inventory", PlanTable(inventory: inventory, choice: choice).json)
    try measure(until: stop) { index, inventory in
      guard let size = inventory.entries[index].size?.tally else { return }
      questioner.tell(
        "measured",
        [
          "number": index + 1, "items": size.items, "bytes": size.bytes,
          "crossingBytes": IfGiven(inventory.entries[index].crossing),
        ])
    }
  }

  private mutating func measure(until stop: StopSignal, telling tell: (Int, Inventory) -> Void) throws(Failure) {
    do throws(Failure) {
      try inventory.measure(until: stop, progress: tell)
    } catch {
      throw error.code == .stopped ? .interrupted(by: .interrupted) : error
    }
  }
}
