import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension Arguments {
  /// An option's value as an address; nil if the option is not given.
  func hostAndPort(
    _ option: String, hint: String,
    by parse: (String, UInt16) throws(HostAndPort.ParseError) -> HostAndPort
  ) throws(TransferFailure) -> HostAndPort? {
    guard let text = try text(option) else { return nil }
    do {
      return try parse(text, Limits.defaultPort)
    } catch {
      throw .usage("\(option): \(error)", hint: hint)
    }
  }

  /// An option's values as ranges of addresses.
  func ranges(_ option: String) throws(TransferFailure) -> [AddressRange] {
    var ranges: [AddressRange] = []
    for bytes in all(option) {
      do {
        ranges.append(try AddressRange.parse(VisibleText.of(bytes)))
      } catch {
        throw .usage("\(option): \(error)", hint: "write an address, or a range such as 192.0.2.0/24 or 2001:db8::/64")
      }
    }
    return ranges
  }

  /// The time to wait for a lost connection, in seconds: a number with s, m or h, or without a unit
  /// for seconds.
  func patience() throws(TransferFailure) -> Double? {
    try seconds("--give-up-after", hint: "write seconds, or 90s, 10m, 2h; 0 for no wait")
  }

  /// An option's value as a time in seconds; nil if the option is not given.
  func seconds(_ option: String, hint: String) throws(TransferFailure) -> Double? {
    guard let text = try text(option) else { return nil }
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Double(digits) else {
      throw .usage("\(option): invalid time \(VisibleText.quoted(text))", hint: hint)
    }
    let seconds = number * (unit ?? 1)
    guard seconds <= ThisDevice.longestPatience else {
      throw .usage("\(option): \(VisibleText.quoted(text)) is longer than 30 days", hint: "write a shorter time")
    }
    return seconds
  }

  /// The action for names that are taken; nil if the option is not given.
  func existing() throws(TransferFailure) -> Existing? {
    guard let text = try text("--existing") else { return nil }
    guard let existing = Existing.allCases.first(where: { $0.name == text }) else {
      throw .usage(
        "--existing: invalid value '\(VisibleText.of(text))'", hint: "write \(choices("--existing"))")
    }
    return existing
  }

  /// The app whose data is transferred; nil for folders.
  func app() throws(TransferFailure) -> String? {
    guard let app = try text("--app") else { return nil }
    guard app.utf8.count <= Limits.identifier else {
      throw .usage("--app: the identifier is too long", hint: "'peer app list' lists the installed apps")
    }
    return app
  }

  /// The name that this device gives itself; nil if the option is not given.
  func label() throws(TransferFailure) -> String? {
    guard let label = try text("--label") else { return nil }
    guard label.utf8.count <= Limits.label else {
      throw .usage("--label: the text is too long", hint: "a label has at most \(Limits.label) bytes")
    }
    return label
  }
}
