import MigrationWire

/// The trace of journals and frames.
extension Scene {
  /// Writes the contents of a journal to the trace, to show why it was refused.
  func noteJournal(of area: SimulatedArea, _ keys: TransferKeys) {
    guard world.trace.keepsAll else { return }
    let key = keys.journalKey
    let bytes = area.journalNode.state.data
    var position = 0
    while position < bytes.count,
      let (record, length) = try? JournalRecord.read(
        bytes.span.extracting(position...), position: UInt64(position), key: key)
    {
      world.note("  \(position) \(Self.brief(record))")
      position += length
    }
    let later = JournalRecord.greatestSyncMark(
      bytes.span.extracting(min(position, bytes.count)...), position: UInt64(position), key: key)
    world.note("  ends at \(position) of \(bytes.count), vouched for later: \(later.map(String.init) ?? "nothing")")
  }

  private static func brief(_ record: JournalRecord) -> String {
    switch record {
    case .item(let item, _): return "item \(text(item.path)) \(short(item.generation)) \(item.size)"
    case .range(let place, _): return "range \(text(place.path)) \(short(place.generation)) \(place.range)"
    case .sealed(let item): return "sealed \(text(item.path)) \(short(item.generation)) \(item.size)"
    case .discarded(let path): return "discarded \(text(path))"
    case .discardedTree(let path): return "discardedTree \(text(path))"
    default: return "\(record)"
    }
  }

  /// A frame has arrived: a name that is sent as a link no longer has content of its own.
  func arrived(_ body: [UInt8]) {
    noteEntries(body)
    var reader = EntryReader(Limits.dataHeader..<body.count)
    while let entry = try? reader.next(body.span) {
      if case .item(let record, _) = entry, record.kind == .hardLink { letGo(ofContentAt: record.path) }
    }
  }

  /// Writes the contents of a frame to the trace.
  private func noteEntries(_ body: [UInt8]) {
    guard world.trace.keepsAll else { return }
    var reader = EntryReader(Limits.dataHeader..<body.count)
    while let entry = try? reader.next(body.span) {
      switch entry {
      case .item(let record, let content):
        let kind = content == nil ? "\(record.kind)" : "whole"
        world.note("  arrives \(kind) \(Self.text(record.path)) \(Self.short(record.generation)) \(record.size)")
      case .chunk(let place, _, _), .hole(let place, _):
        world.note("  arrives \(Self.text(place.path)) \(Self.short(place.generation)) \(place.range)")
      }
    }
  }

  private static func text(_ path: ArchivePath) -> String { String(decoding: path.bytes, as: UTF8.self) }
  private static func short(_ generation: Generation) -> String {
    String(UInt16(truncatingIfNeeded: generation), radix: 16)
  }

  /// Makes the journal claim that all of it is durable.
  func vouchForJournal(of area: SimulatedArea, _ keys: TransferKeys) {
    let key = keys.journalKey
    let bytes = area.journalNode.state.data
    var position = 0
    while position < bytes.count,
      let (_, length) = try? JournalRecord.read(
        bytes.span.extracting(position...), position: UInt64(position), key: key)
    {
      position += length
    }
    var writer = ByteWriter()
    JournalRecord.synced(upTo: UInt64(position)).write(to: &writer, position: UInt64(position), key: key)
    area.journalNode.write(.data(position, writer.bytes))
    area.journalNode.commit(area.journalNode.pending.count)
  }
}
