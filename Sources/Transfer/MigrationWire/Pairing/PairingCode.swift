/// The eight digits that a person copies from the receiver to the sender (Protocol §4.3).
package struct PairingCode: Hashable, Sendable {
  /// How often it may be tried: at its receiver, and at its sender.
  package static let tries = 3

  /// The reason why a typed text is no code.
  package enum Mistake: Error, Equatable, Sendable {
    /// Not eight digits.
    case malformed
    /// The check digit is wrong, as after a typing mistake.
    case mistyped
  }

  /// The digits before the check digit. As a number they leave no text in memory.
  private let number: UInt32

  /// A code from a uniformly random number below 10⁷.
  package init(number: UInt32) {
    precondition(number < 10_000_000, "a code has seven free digits")
    self.number = number
  }

  /// Reads a typed text: spaces and dashes are ignored, everything else must be eight ASCII digits.
  /// The caller cleanses the text.
  package init(typed text: [UInt8]) throws(Mistake) { try self.init(typed: text.span) }

  /// Reads a text as the other initializer does.
  package init(typed text: Span<UInt8>) throws(Mistake) {
    var (number, check, count) = (UInt32(0), UInt8(0), 0)
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): break
      case let byte where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) && count < 8:
        let digit = byte - UInt8(ascii: "0")
        if count < 7 { number = number * 10 + UInt32(digit) }
        check = Self.check(check, digit)
        count += 1
      default: throw .malformed
      }
    }
    guard count == 8 else { throw .malformed }
    guard check == 0 else { throw .mistyped }
    self.number = number
  }

  /// Eight digits in ASCII, the last of them the check digit; the caller cleanses them.
  package var digits: [UInt8] {
    var digits = [UInt8](repeating: UInt8(ascii: "0"), count: 8)
    forEachDigit { digits[$0] += $1 }
    return digits
  }

  /// The code as `4829-1367`. A text this short lies in the value itself, not on the heap.
  package var shown: String {
    var text = ""
    forEachDigit { place, digit in
      if place == 4 { text.append("-") }
      text.append(Character(Unicode.Scalar(UInt8(ascii: "0") + digit)))
    }
    return text
  }

  /// Gives each of the eight digits with its place.
  private func forEachDigit(_ body: (_ place: Int, _ digit: UInt8) -> Void) {
    var (check, unit) = (UInt8(0), UInt32(1_000_000))
    for place in 0..<7 {
      let digit = UInt8(number / unit % 10)
      check = Self.check(check, digit)
      body(place, digit)
      unit /= 10
    }
    // The only digit that leads Damm's check to zero is the interim digit itself.
    body(7, check)
  }

  /// Damm's next interim digit after one more digit. It begins at 0, and is 0 again after the check
  /// digit.
  static func check(_ interim: UInt8, _ digit: UInt8) -> UInt8 { damm[Int(interim)][Int(digit)] }

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
