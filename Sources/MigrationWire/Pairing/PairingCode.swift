/// The eight digits that a person carries from the receiver to the sender (Protocol §4.3).
package struct PairingCode: Equatable, Sendable {
  /// Why a typed text is no code.
  package enum Mistake: Error, Equatable, Sendable {
    /// Not eight digits.
    case malformed
    /// The check digit does not fit: a slip of the finger.
    case mistyped
  }

  /// Eight digits in ASCII, the last of them the check digit.
  package let digits: [UInt8]

  /// A new code from a uniformly random number below 10⁷.
  package init(number: UInt32) {
    precondition(number < 10_000_000, "a code has seven free digits")
    var digits: [UInt8] = []
    var rest = number
    for _ in 0..<7 {
      digits.insert(UInt8(ascii: "0") + UInt8(rest % 10), at: 0)
      rest /= 10
    }
    self.digits = digits + [UInt8(ascii: "0") + Self.check(digits)]
  }

  /// Reads what a person typed: spaces and dashes are ignored, everything else must be eight ASCII
  /// digits.
  package init(typed text: [UInt8]) throws(Mistake) {
    let ignored: [UInt8] = [
      UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"),
    ]
    let digits = text.filter { !ignored.contains($0) }
    guard digits.count == 8, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      throw .malformed
    }
    guard Self.check(digits) == 0 else { throw .mistyped }
    self.digits = digits
  }

  /// As it is shown: `4829-1367`.
  package var shown: String {
    String(decoding: digits[..<4] + [UInt8(ascii: "-")] + digits[4...], as: UTF8.self)
  }

  /// Damm's interim digit after all of `digits`; 0 when the last of them is their check digit.
  package static func check(_ digits: [UInt8]) -> UInt8 {
    digits.reduce(0) { damm[Int($0)][Int($1 - UInt8(ascii: "0"))] }
  }

  private static let damm: [[UInt8]] = [
    [0, 3, 1, 7, 5, 9, 8, 6, 4, 2],
    [7, 0, 9, 2, 1, 5, 4, 8, 6, 3],
    [4, 2, 0, 6, 8, 7, 1, 3, 5, 9],
    [1, 7, 5, 0, 9, 8, 3, 4, 2, 6],
    [6, 1, 2, 3, 0, 4, 5, 9, 7, 8],
    [3, 6, 7, 4, 2, 0, 9, 5, 8, 1],
    [5, 8, 6, 9, 7, 2, 0, 1, 3, 4],
    [8, 9, 4, 5, 3, 6, 2, 0, 1, 7],
    [9, 4, 3, 8, 6, 1, 7, 2, 0, 5],
    [2, 5, 8, 1, 4, 3, 6, 7, 9, 0],
  ]
}
