import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// Measures the entries of a home, for a person or a program that waits for them.
extension ChosenEverything {
  /// The shortest pause between two looks at the sizes.
  private static let pause = Duration.milliseconds(100)

  /// Measures the entries. At a terminal it shows how far that is, and with `table` the sizes as they
  /// become known: in place, if the terminal has room for the whole table, and else line by line.
  mutating func measure(showing table: Bool, until stop: StopSignal) throws(Failure) {
    let (count, choice) = (inventory.entries.count, choice)
    let isShown = !options.json && Terminal.isTerminal(StandardStream.error.rawValue)
    let columns = Terminal.width(StandardStream.error.rawValue) ?? 80
    func show(_ pieces: ArraySlice<String>, measuring next: Int?) {
      let line = next.map { "Measuring \(min($0, count)) of \(count)" } ?? ""
      StandardStream.error.write("\r\u{1B}[2K\(pieces.joined())\(line)")
    }
    var (shown, next) = (0, BootInstant.now() + Self.pause)
    let rows = table && isShown ? Terminal.height(StandardStream.error.rawValue) ?? 0 : 0
    var whole = PlanTable.WholeTable(choice: choice, columns: columns, rows: rows)
    if isShown, !whole.draw(inventory, measuring: 1) { show([], measuring: 1) }
    do throws(Failure) {
      try inventory.measure(until: stop) { index, inventory in
        let began = BootInstant.now()
        guard isShown, began >= next else { return }
        // A long table takes time to make and to write, which people do not see.
        defer {
          let ended = BootInstant.now()
          next = ended + max(Self.pause, began.duration(to: ended))
        }
        if whole.draw(inventory, measuring: index + 2) { return }
        // Apps that make their data themselves are not measured.
        let all = table ? PlanTable(inventory: inventory, choice: choice).texts(columns: columns) : []
        show(table ? all[shown...index] : [], measuring: index + 2)
        shown = index + 1
      }
    } catch {
      if isShown { StandardStream.error.write("\r\u{1B}[2K") }
      throw error.code == .stopped ? .interrupted(by: .interrupted) : error
    }
    if whole.draw(inventory, measuring: nil) { return }
    let rest = table ? PlanTable(inventory: inventory, choice: choice).texts(columns: columns)[shown...] : []
    if isShown {
      show(rest, measuring: nil)
    } else if table {
      Questioner()?.write(rest.joined())
    }
  }

  /// Measures the entries, and tells a program what there is and the size of each as soon as it is
  /// known.
  mutating func measure(telling questioner: ProgramQuestioner, until stop: StopSignal) throws(Failure) {
    questioner.tell("inventory", PlanTable(inventory: inventory, choice: choice).json)
    do throws(Failure) {
      try inventory.measure(until: stop) { index, inventory in
        guard let size = inventory.entries[index].size?.tally else { return }
        questioner.tell(
          "measured",
          [
            "number": index + 1, "items": size.items, "bytes": size.bytes,
            "crossingBytes": IfGiven(inventory.entries[index].crossing),
          ])
      }
    } catch {
      throw error.code == .stopped ? .interrupted(by: .interrupted) : error
    }
  }
}
