import COpenSSL

/// Draws unpredictable bytes.
package func randomBytes(_ count: Int) -> [UInt8] {
  OpenSSL.begin()
  return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    // Without randomness there are no keys; no caller could do better than to stop.
    guard unsafe RAND_bytes(buffer.baseAddress, Int32(count)) == 1 else { fatalError("OpenSSL has no random bytes") }
    initialized = count
  }
}

/// Draws a number from 0 to 9,999,999, each with the same probability: the random digits of a
/// pairing code.
package func randomSevenDigitNumber() -> Int {
  uniform(below: 10_000_000) {
    randomBytes(4).reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// Turns words from `source` into a number below `bound` without favouring any.
///
/// Words above the last whole multiple of `bound` are drawn again, because a plain remainder would
/// favour small numbers.
func uniform(below bound: UInt32, source: () -> UInt32) -> Int {
  let limit = UInt32.max - UInt32.max % bound
  while true {
    let word = source()
    if word < limit { return Int(word % bound) }
  }
}
