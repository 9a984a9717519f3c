import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The items of a transfer that were not sent, not stored, or saved under other names, and the end of
/// each of several parts.
struct ItemList: Sendable {
  /// The parts of a plan with several parts.
  var migration = PartEnds()
  private var items: [(path: [UInt8], event: TransferEvent)] = []
  private var size = 0
  /// The number of items for which there is no room.
  private var missing: UInt64 = 0
  /// The items of the parts that have arrived, which are not named again.
  private var settled: (items: Int, size: Int, missing: UInt64) = (0, 0, 0)

  /// The number of all items.
  var count: UInt64 { UInt64(items.count) + missing }

  /// Records an event about an item.
  mutating func note(_ event: TransferEvent, at now: Double = 0) {
    let path: [UInt8]
    migration.note(event, at: now)
    switch event {
    case .notStored(let item, _): path = item.path
    case .renamed(let named, _): path = named
    case .partEnded(let end):
      if end.root == nil, case .success = end.result { settled = (items.count, size, missing) }
      return
    // The items of a part that has not arrived are named again.
    case .resumed:
      items.removeSubrange(settled.items...)
      (size, missing) = (settled.size, settled.missing)
      return
    default: return
    }
    size += path.count + 256
    if size <= OutputQueue.capacity { items.append((path, event)) } else { missing += 1 }
  }

  /// The table of the parts, if there are several, and a line for each item, in the order of the
  /// paths.
  func text(_ command: String) -> String {
    let table = migration.table(command)?.text(columns: Self.columns) ?? ""
    return table + (count == 0 ? "" : lines)
  }

  /// The width of a table in a file.
  private static let columns = 100

  private var lines: String {
    let lines = sorted.compactMap { item in item.event.clause.map { "\(VisibleText.listed(item.path)): \($0)\n" } }
    return lines.joined() + (missing > 0 ? "and \(Figures.count(missing)) more\n" : "")
  }

  /// An array of the events, in the order of the paths. Of several parts, an object with their table
  /// and that array.
  func json(_ command: String) -> String {
    guard let table = migration.table(command), !table.rows.isEmpty else { return events }
    return "\(table.json.json.dropLast()),\"items\":\(events.dropLast())}\n"
  }

  private var events: String {
    var report = JSONReport()
    let objects = sorted.map { report.handle($0.event, at: Moment(elapsed: 0, wall: 0)).standardOutput.dropLast() }
    return "[\n" + objects.joined(separator: ",\n") + (objects.isEmpty ? "]\n" : "\n]\n")
  }

  private var sorted: [(path: [UInt8], event: TransferEvent)] {
    // A key path cannot lead to a part of a tuple.
    items.sorted(by: { (item) in item.path })
  }

  /// The file for the list of a transfer's items.
  struct File: Sendable {
    private let path: [UInt8]
    /// The user's file, which is opened before this process is confined; nil for the file in
    /// PEER_HOME.
    private let file: SharedDescriptor?

    /// The file that the user named, or a file in PEER_HOME, which is written only if there are more
    /// items than the result names.
    init(_ named: [UInt8]?, in home: [UInt8], _ role: Role) throws(Failure) {
      guard let named else {
        path = home + Array("/\(Self.name(role))".utf8)
        file = nil
        return
      }
      path = named
      do {
        let (directory, name) = FileContent.split(named)
        file = SharedDescriptor(try Directory.open(directory).openOrCreateFile(name, mode: 0o666))
      } catch {
        throw .usage(
          "--report: \(VisibleText.quoted(named)) cannot be written: \(error.words)",
          hint: "Name a file in a directory that you may write to.")
      }
    }

    /// The name of the file in PEER_HOME.
    static func name(_ role: Role) -> String { role == .sender ? "last-send.txt" : "last-receive.txt" }

    /// Writes a list. Returns a clause for the user, if there is anything to read or an error.
    func write(_ list: ItemList, of command: String = CommandLineText.again(CurrentProcess.arguments)) -> String? {
      guard file != nil || list.count > UInt64(NotStoredList.shown) else { return nil }
      let isJSON = path.suffix(5) == Array(".json".utf8)[...]
      let bytes = Array((isJSON ? list.json(command) : list.text(command)).utf8)
      do throws(SystemError) {
        if let file {
          try file.descriptor.truncate(to: 0)
          try file.descriptor.write(at: 0, bytes.span)
        } else {
          let (directory, name) = FileContent.split(path)
          try Directory.open(directory).replaceFile(name, with: bytes)
        }
      } catch {
        return "the list of items cannot be written to \(VisibleText.quoted(path)): \(error.words)"
      }
      return list.count == 0 ? nil : "\(VisibleText.quoted(path)) lists \(Figures.count(list.count, "item"))"
    }
  }
}

extension TransferEvent {
  /// A clause about the fate of an item.
  fileprivate var clause: String? {
    switch self {
    case .notStored(let item, let note): item.clause(note)
    case .renamed(_, let target): "was saved as \(VisibleText.quoted(target))"
    default: nil
    }
  }
}
