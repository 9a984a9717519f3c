import MigrationEngine
import MigrationTransfer
import MigrationWire

extension Arguments {
  /// The lowest limit: at a lower rate, a single large frame would take an hour.
  private static let slowestRate = 1_000.0
  /// The highest limit: a higher rate is a typing error, or no limit at all.
  private static let fastestRate = 1e12

  /// An option's value in bytes a second; nil if the option is not given.
  func rate(_ option: String) throws(TransferFailure) -> UInt64? {
    guard let text = try text(option) else { return nil }
    let shown = VisibleText.of(text)
    guard let rate = Self.amount(text, units: ["k": 1e3, "m": 1e6, "g": 1e9]) else {
      throw .usage("\(option): invalid rate '\(shown)'", hint: "write bytes a second, as in 500k, 20M or 1.5G")
    }
    guard rate >= Self.slowestRate else {
      throw .usage(
        "\(option): '\(shown)' is less than 1 kB a second", hint: "write 1k or more, or remove the option for no limit")
    }
    guard rate <= Self.fastestRate else {
      throw .usage("\(option): '\(shown)' is more than any network carries", hint: "remove the option for no limit")
    }
    return UInt64(rate)
  }

  /// An option's value in bytes, at least one; nil if the option is not given.
  func size(_ option: String) throws(TransferFailure) -> UInt64? {
    guard let text = try text(option) else { return nil }
    let amount = Self.amount(text, units: ["k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12])
    guard let amount, amount >= 1 else {
      throw .usage(
        "\(option): invalid size '\(VisibleText.of(text))'", hint: "write bytes, as in 500k, 20M, 1.5G or 2T")
    }
    return min(UInt64(exactly: amount.rounded(.down)) ?? .max, Limits.fileSize)
  }

  /// A number with an optional unit; nil if the text is not one. Units are decimal, as in all
  /// output.
  private static func amount(_ text: String, units: [Character: Double]) -> Double? {
    let unit = text.last.flatMap { units[Character($0.lowercased())] }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard digits.first?.isNumber == true, digits.last?.isNumber == true,
      digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let number = Double(digits)
    else { return nil }
    return number * (unit ?? 1)
  }

  /// The wanted number of data streams; nil if the option is not given.
  func streams() throws(TransferFailure) -> UInt32? {
    guard let text = try text("--streams") else { return nil }
    guard text.allSatisfy({ $0.isASCII && $0.isNumber }), let number = UInt32(text),
      (1...Limits.streams).contains(Int(number))
    else {
      throw .usage(
        "--streams: invalid number '\(VisibleText.of(text))'",
        hint: "write 1 to \(Limits.streams), or remove the option: the sender then finds the best number")
    }
    return number
  }
}
