import MigrationSystem

extension Staging {
  /// A file of which pieces have arrived.
  struct OpenFile: Sendable {
    let file: any StagedFile
    // The kernel lets one thread at a time write into a file, and the others spin for it: in memory
    // that took a sixth of a receiver's time.
    private let turn = Condition(())
    /// Whether the file may have bytes without a claim.
    private let hasSurplus: Bool

    /// `isRecovered` is true if an earlier process wrote to the file.
    init(file: any StagedFile, isRecovered: Bool) {
      self.file = file
      hasSurplus = isRecovered
    }

    /// Writes bytes of one stream; the others that write into this file sleep meanwhile.
    func write(at offset: UInt64, _ bytes: Span<UInt8>) throws(SystemError) {
      LoopThread.check("wait for a file")
      try turn.withLock { (_) throws(SystemError) in try file.write(at: offset, bytes) }
    }

    /// Gives a range the bytes that another file has there.
    func copy(_ range: Range<UInt64>, from other: any StagedFile) throws(SystemError) {
      LoopThread.check("wait for a file")
      try turn.withLock { (_) throws(SystemError) in try file.copy(range, from: other) }
    }

    /// Makes a range a hole, also where the file had more than the data that counts.
    func clear(_ range: Range<UInt64>) throws(SystemError) {
      guard hasSurplus else { return }
      LoopThread.check("wait for a file")
      try turn.withLock { (_) throws(SystemError) in try file.clear(range) }
    }
  }
}
