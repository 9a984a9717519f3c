/// The number under which a relay's users pair with a receiver (Protocol §16.2).
package struct RelayPlace: Hashable, Sendable {
  /// The numbers of digits that a place may have.
  package static let lengths = 3...9

  /// All digits, the check digit last.
  package let number: UInt32

  /// Nil for a number that has another number of digits, or another check digit.
  package init?(number: UInt32) {
    var (check, count) = (UInt8(0), 0)
    for digit in String(number).utf8 {
      check = PairingCode.check(check, digit - UInt8(ascii: "0"))
      count += 1
    }
    guard Self.lengths.contains(count), check == 0 else { return nil }
    self.number = number
  }

  /// The place whose digits before the check digit are these.
  package init?(withoutCheck digits: UInt32) {
    var check: UInt8 = 0
    for digit in String(digits).utf8 { check = PairingCode.check(check, digit - UInt8(ascii: "0")) }
    self.init(number: digits * 10 + UInt32(check))
  }

  /// The place and a code, as a person types them: `577-4829-1367`.
  package func shown(with code: PairingCode) -> String { "\(number)-\(code.shown)" }
}

/// The digits that a person has typed: a code, behind the receiver's place if it waits at a relay.
package struct TypedCode: Hashable, Sendable {
  /// Nil for a receiver on this network.
  package let place: RelayPlace?
  package let code: PairingCode

  package init(place: RelayPlace? = nil, code: PairingCode) {
    self.place = place
    self.code = code
  }

  /// Reads a typed text as `PairingCode` does. The last eight digits are the code. The caller
  /// cleanses the text.
  package init(typed text: Span<UInt8>) throws(PairingCode.Mistake) {
    let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    var before = -8
    for index in text.indices where isDigit(text[index]) { before += 1 }
    guard before > 0 else {
      self.init(code: try PairingCode(typed: text))
      return
    }
    guard RelayPlace.lengths.contains(before) else { throw .malformed }
    var (number, next) = (UInt32(0), 0)
    while before > 0 {
      switch text[next] {
      case let byte where isDigit(byte):
        number = number * 10 + UInt32(byte - UInt8(ascii: "0"))
        before -= 1
      case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "\t"): break
      default: throw .malformed
      }
      next += 1
    }
    let code = try PairingCode(typed: text.extracting(next...))
    guard let place = RelayPlace(number: number) else { throw .mistyped }
    self.init(place: place, code: code)
  }
}
