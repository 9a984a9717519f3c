import MigrationWire

/// The sender's durable count of the tries of codes, and the expectation of it.
struct CountedCodes {
  private var tries = SpentTries()
  /// How many proofs of each code no device has answered with its own: each may have tested a guess.
  private var guesses: [UInt64: Int] = [:]

  func isUsedUp(_ code: UInt64) -> Bool { tries.left(UInt128(code)) == 0 }

  /// Spends a try before a proof is sent; false where none is left.
  mutating func spend(_ code: UInt64) -> Bool {
    guard tries.spend(UInt128(code)) else { return false }
    guesses[code, default: 0] += 1
    return true
  }

  /// The receiver has proved the code too.
  mutating func giveBack(_ code: UInt64) {
    tries.giveBack(UInt128(code))
    guesses[code, default: 0] -= 1
  }

  /// Whether a code was tested too often.
  var isBroken: Bool { guesses.values.contains { $0 > 3 } }
}
