import MigrationSystem

extension Staging {
  /// A file of which pieces have arrived.
  struct OpenFile: Sendable {
    let file: any StagedFile
    // The kernel lets one thread at a time write into a file, and the others spin for it: in memory
    // that took a sixth of a receiver's time.
    private let turn: Condition<Ahead>

    /// The space that is set aside for a growing file. Pieces come by several streams, out of
    /// order, and XFS would lay each of them elsewhere.
    private struct Ahead {
      static let least: UInt64 = 16 << 20
      static let most: UInt64 = 256 << 20
      /// The end of the space that this process has set aside.
      var end: UInt64 = 0
      /// Whether no more space is set aside: the file has holes, or the file system refuses.
      var isOver = false
      /// Whether the file may have bytes without a claim, or space behind its end.
      var hasSurplus: Bool
    }

    /// `isRecovered` is true if an earlier process wrote to the file.
    init(file: any StagedFile, isRecovered: Bool) {
      self.file = file
      turn = Condition(Ahead(hasSurplus: isRecovered))
    }

    /// Writes bytes of one stream; the others that write into this file sleep meanwhile.
    func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) {
      LoopThread.check("wait for a file")
      try turn.withLock { ahead throws(SystemError) in
        let end = offset + UInt64(bytes.count)
        if end > max(ahead.end, Ahead.least), !ahead.isOver { setAside(from: max(ahead.end, offset), &ahead) }
        try file.write(at: offset, bytes)
      }
    }

    /// Gives a range the bytes that another file has there.
    func copy(_ range: Range<UInt64>, from other: any StagedFile) throws(SystemError) {
      LoopThread.check("wait for a file")
      try turn.withLock { ahead throws(SystemError) in
        ahead.isOver = true
        try file.copy(range, from: other)
      }
    }

    /// Sets aside as much again as is before it, as XFS does for a file that only one stream writes.
    private func setAside(from start: UInt64, _ ahead: inout Ahead) {
      let end = start + min(start, Ahead.most)
      do throws(SystemError) {
        try file.setAside(start..<end)
        (ahead.end, ahead.hasSurplus) = (end, true)
      } catch {
        ahead.isOver = true
      }
    }

    /// Makes a range a hole, also where the file had more than the data that counts.
    func clear(_ range: Range<UInt64>) throws(SystemError) {
      LoopThread.check("wait for a file")
      try turn.withLock { ahead throws(SystemError) in
        ahead.isOver = true
        guard ahead.hasSurplus else { return }
        // The space behind the end goes with a new size.
        try file.truncate(to: file.size())
        try file.clear(range)
      }
    }
  }
}
