/// Sizes and counts as texts for people.
package enum Figures {
  private static let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]

  /// A size in decimal units: `999 B`, `3.2 GB`, `225 MB`.
  package static func size(_ bytes: UInt64) -> String {
    let unit = unit(of: bytes)
    return "\(digits(bytes, in: unit)) \(name(of: unit))"
  }

  /// A number with a comma after each third digit.
  package static func count(_ number: UInt64) -> String {
    var text = ""
    for (index, digit) in String(number).reversed().enumerated() {
      if index > 0, index.isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }

  /// A number with its noun: `1 item`, `1,204 items`.
  package static func count(_ number: UInt64, _ noun: String) -> String {
    "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
  }

  /// The unit in which a rounded size has one to three digits before the point.
  package static func unit(of bytes: UInt64) -> Int {
    (0..<units.count).first { quotient(bytes, scale($0)) < 1000 } ?? units.count - 1
  }

  /// The name of a unit.
  package static func name(of unit: Int) -> String { units[unit] }

  /// One place behind the point below 100, none from there on; none for single bytes.
  package static func digits(_ bytes: UInt64, in unit: Int, _ hasPoint: Bool? = nil) -> String {
    guard unit > 0 else { return String(bytes) }
    let tenths = quotient(bytes, scale(unit) / 10)
    guard hasPoint ?? (tenths < 1000) else { return String(quotient(bytes, scale(unit))) }
    return "\(tenths / 10).\(tenths % 10)"
  }

  private static func scale(_ unit: Int) -> UInt64 {
    (0..<unit).reduce(1) { scale, _ in scale * 1000 }
  }

  /// Division that rounds to the nearest.
  private static func quotient(_ number: UInt64, _ divisor: UInt64) -> UInt64 {
    let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
    return quotient + (rest >= divisor - rest ? 1 : 0)
  }
}

extension FixedWidthInteger where Self: UnsignedInteger {
  /// All digits, the most significant first.
  package var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: Self.bitWidth / 4 - digits.count) + digits
  }
}

extension Sequence<UInt8> {
  /// Two digits for each byte.
  package var hexadecimal: String { map(\.hexadecimal).joined() }
}
