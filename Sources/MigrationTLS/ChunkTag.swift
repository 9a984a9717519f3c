/// What proves that a chunk is the one that was tagged: a GMAC and the nonce it was made with.
package struct ChunkTag: Hashable, Sendable {
  /// The number of bytes of a tag in a file.
  package static let byteCount = 28

  // Integers, not arrays: a journal holds a tag for every chunk.
  private let noncePrefix: UInt64
  private let codeHigh: UInt64
  private let codeLow: UInt64
  private let nonceCounter: UInt32

  /// Puts a tag together; the code is the MAC's 16 bytes, big-endian.
  init(nonce: ChunkNonce, codeHigh: UInt64, codeLow: UInt64) {
    noncePrefix = nonce.prefix
    nonceCounter = nonce.counter
    self.codeHigh = codeHigh
    self.codeLow = codeLow
  }

  /// Reads a tag from where one was kept; nil unless it has 28 bytes.
  package init?(bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount else { return nil }
    noncePrefix = Self.load(bytes, at: 0)
    nonceCounter = Self.load(bytes, at: 8)
    codeHigh = Self.load(bytes, at: 12)
    codeLow = Self.load(bytes, at: 20)
  }

  /// Reads a tag from where one was kept; nil unless it has 28 bytes.
  package init?(bytes: [UInt8]) {
    unsafe self.init(bytes: bytes.span.bytes)
  }

  /// The nonce, 12 bytes, and after it the code, 16 bytes.
  package var bytes: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(Self.byteCount)
    Self.append(noncePrefix, to: &result)
    Self.append(nonceCounter, to: &result)
    Self.append(codeHigh, to: &result)
    Self.append(codeLow, to: &result)
    return result
  }

  /// The nonce that the tag was made with.
  var nonce: ChunkNonce { ChunkNonce(prefix: noncePrefix, counter: nonceCounter) }

  /// The code as two numbers, in the order of its bytes.
  var code: (high: UInt64, low: UInt64) { (codeHigh, codeLow) }

  private static func load<T: FixedWidthInteger & BitwiseCopyable>(_ bytes: RawSpan, at offset: Int) -> T {
    T(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
  }

  private static func append<T: FixedWidthInteger>(_ value: T, to bytes: inout [UInt8]) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }
}

/// 96 bits that must never serve twice under one key.
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
}
