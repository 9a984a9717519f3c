import MigrationWire

/// A 96-bit nonce. It must never be used twice under one key.
struct ChunkNonce: Hashable, Sendable {
  /// The first 8 bytes, big-endian: drawn at random once for many nonces.
  var prefix: UInt64
  /// The last 4 bytes, big-endian: counted.
  var counter: UInt32

  /// Draws a prefix and begins to count.
  static func drawn() -> ChunkNonce {
    ChunkNonce(prefix: randomBytes(8).reduce(0) { $0 << 8 | UInt64($1) }, counter: 0)
  }

  /// Gives the nonce to use now and moves on.
  mutating func next() -> ChunkNonce {
    let current = self
    if counter == .max { self = .drawn() } else { counter += 1 }
    return current
  }

  /// The nonce that a seal was made with.
  init(_ seal: ChunkSeal) {
    self.init(prefix: seal.nonceHigh, counter: seal.nonceLow)
  }

  init(prefix: UInt64, counter: UInt32) {
    self.prefix = prefix
    self.counter = counter
  }
}
