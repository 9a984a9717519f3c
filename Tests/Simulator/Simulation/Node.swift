import MigrationSystem

/// A file, directory or link of the simulated disk.
final class Node {
  /// A change that is not yet durable.
  enum Write {
    case data(Int, [UInt8])
    case size(Int)
    case mode(UInt32)
    case time(Timestamp)
    case attribute([UInt8], [UInt8])
  }

  struct State: Equatable {
    var data: [UInt8] = []
    var mode: UInt32 = 0o755
    var modified: Timestamp?
    /// Extended attributes, including access lists.
    var attributes: [[UInt8]: [UInt8]] = [:]

    mutating func apply(_ write: Write) {
      switch write {
      case .data(let offset, let bytes):
        extend(to: offset + bytes.count)
        data.replaceSubrange(offset..<offset + bytes.count, with: bytes)
      case .size(let size):
        extend(to: size)
        data.removeLast(data.count - size)
      case .mode(let mode): self.mode = mode
      case .time(let time): modified = time
      case .attribute(let name, let value): attributes[name] = value.isEmpty ? nil : value
      }
    }

    private mutating func extend(to size: Int) {
      if data.count < size { data += [UInt8](repeating: 0, count: size - data.count) }
    }
  }

  let number: UInt64
  let kind: FileKind
  var isJournal = false
  var target: [UInt8] = []
  var entries: [[UInt8]: Node] = [:]
  var durableEntries: [[UInt8]: Node] = [:]
  private(set) var state = State()
  private var durable = State()
  private(set) var pending: [Write] = []

  init(number: UInt64, kind: FileKind) {
    self.number = number
    self.kind = kind
  }

  func write(_ write: Write) {
    state.apply(write)
    pending.append(write)
  }

  /// Removes all attributes and access lists.
  func clearExtendedMetadata() {
    for name in state.attributes.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) { write(.attribute(name, [])) }
  }

  /// The first `count` writes are durable.
  func commit(_ count: Int) {
    for write in pending.prefix(count) { durable.apply(write) }
    pending.removeFirst(count)
  }

  /// Writes that were not durable may be lost, each independently; a part of a write may remain, or
  /// garbage.
  func losePower(_ dice: Dice, isTorn: Bool) {
    for write in pending {
      switch write {
      case .data(let offset, let bytes):
        switch dice.roll(0...3) {
        case 0: break
        case 1:
          let kept = dice.roll(0...bytes.count)
          durable.apply(.data(offset, Array(bytes.prefix(kept))))
        case 2 where isTorn:
          durable.apply(.data(offset, dice.bytes(bytes.count)))
        default: durable.apply(write)
        }
      // The size may be written before the bytes are.
      case .size, .mode, .time, .attribute: if dice.one(in: 2) { durable.apply(write) }
      }
    }
    if case .data(let offset, let bytes)? = pending.last, dice.one(in: 3) {
      durable.apply(.size(max(durable.data.count, offset + bytes.count)))
    }
    pending = []
    state = durable
    entries = durableEntries
  }
}
