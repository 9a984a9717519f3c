import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension Arguments {
  /// An option's value as an address; nil if the option is not given.
  func hostAndPort(
    _ option: String, hint: String,
    by parse: (String, UInt16) throws(HostAndPort.ParseError) -> HostAndPort
  ) throws(Failure) -> HostAndPort? {
    guard let text = try text(option) else { return nil }
    return try HostAndPort.ParseError.mapped(parse(text, Limits.defaultPort)) {
      Failure.usage("\(option): \($0)", hint: hint)
    }
  }

  /// An option's values as ranges of addresses.
  func ranges(_ option: String) throws(Failure) -> [AddressRange] {
    var ranges: [AddressRange] = []
    for bytes in all(option) {
      do {
        ranges.append(try AddressRange.parse(VisibleText.of(bytes)))
      } catch {
        throw .usage("\(option): \(error)", hint: "Write an address, or a range such as 192.0.2.0/24 or 2001:db8::/64.")
      }
    }
    return ranges
  }

  /// The time to wait for a lost connection, in seconds: a number with s, m, h or d, or without a unit
  /// for seconds.
  func patience() throws(Failure) -> Double? {
    try seconds("--give-up-after", hint: "Write seconds, or 90s, 10m, 2h; 0 for no wait.")
  }

  /// An option's value as a time in seconds; nil if the option is not given.
  func seconds(
    _ option: String, hint: String, atMost longest: Double = ThisDevice.longestPatience
  ) throws(Failure) -> Double? {
    guard let text = try text(option) else { return nil }
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Double(digits) else {
      throw .usage("\(option): invalid time \(VisibleText.quoted(text))", hint: hint)
    }
    let seconds = number * (unit ?? 1)
    guard seconds <= longest else {
      let days = Int(longest / 86_400)
      throw .usage("\(option): \(VisibleText.quoted(text)) is longer than \(days) days", hint: "Write a shorter time.")
    }
    return seconds
  }

  /// The value that an option's word means; nil if the option is not given.
  func choice<Value>(_ option: String, by value: (String) -> Value?) throws(Failure) -> Value? {
    guard let text = try text(option) else { return nil }
    guard let value = value(text) else {
      throw .usage("\(option): invalid value '\(VisibleText.of(text))'", hint: "Write \(choices(option)).")
    }
    return value
  }

  /// The action for names that are taken; nil if the option is not given.
  func existing() throws(Failure) -> Existing? {
    try choice("--existing") { text in Existing.allCases.first { $0.name == text } }
  }

  /// The app whose data is transferred; nil for folders.
  func app() throws(Failure) -> String? {
    guard let app = try text("--app") else { return nil }
    guard app.utf8.count <= Limits.identifier else {
      throw .usage("--app: the identifier is too long", hint: "'peer app list' lists the installed apps.")
    }
    return app
  }

  /// The apps whose data is sent, in their order, and how many of them stand in front of the paths.
  func apps() throws(Failure) -> (identifiers: [String], inFront: Int) {
    var identifiers: [String] = []
    for bytes in all("--app") {
      guard let app = String(validating: bytes, as: UTF8.self), app.utf8.count <= Limits.identifier else {
        throw .usage(
          "--app: the identifier is too long, or not text", hint: "'peer app list' lists the installed apps.")
      }
      guard !identifiers.contains(app) else {
        throw .usage("--app: \(VisibleText.quoted(app)) is given more than once", hint: "Name each app once.")
      }
      identifiers.append(app)
    }
    let inFront = settings.prefix(settingsInFront).count { $0.option == "--app" }
    return (identifiers, operands.isEmpty ? identifiers.count : inFront)
  }

  /// The name that this device gives itself; nil if the option is not given.
  func label() throws(Failure) -> String? {
    guard let label = try text("--label") else { return nil }
    guard label.utf8.count <= Limits.label else {
      throw .usage("--label: the text is too long", hint: "A label has at most \(Limits.label) bytes.")
    }
    return label
  }
}

extension Arguments {
  /// The lowest limit: at a lower rate, a single large frame would take an hour.
  private static let slowestRate = 1_000.0
  /// The highest limit: a higher rate is a typing error, or no limit at all.
  private static let fastestRate = 1e12

  /// An option's value in bytes a second; nil if the option is not given.
  func rate(_ option: String) throws(Failure) -> UInt64? {
    guard let text = try text(option) else { return nil }
    let shown = VisibleText.of(text)
    guard let rate = Self.amount(text, units: ["k": 1e3, "m": 1e6, "g": 1e9]) else {
      throw .usage("\(option): invalid rate '\(shown)'", hint: "Write bytes a second, as in 500k, 20M or 1.5G.")
    }
    guard rate >= Self.slowestRate else {
      throw .usage(
        "\(option): '\(shown)' is less than 1 kB a second", hint: "Write 1k or more, or remove the option for no limit."
      )
    }
    guard rate <= Self.fastestRate else {
      throw .usage("\(option): '\(shown)' is more than any network carries", hint: "Remove the option for no limit.")
    }
    return UInt64(rate)
  }

  /// An option's value in bytes, at least one; nil if the option is not given.
  func size(_ option: String) throws(Failure) -> UInt64? {
    guard let text = try text(option) else { return nil }
    let amount = Self.amount(text, units: ["k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12])
    guard let amount, amount >= 1 else {
      throw .usage(
        "\(option): invalid size '\(VisibleText.of(text))'", hint: "Write bytes, as in 500k, 20M, 1.5G or 2T.")
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
  func streams() throws(Failure) -> UInt32? {
    let otherwise = "the sender then finds the best number"
    return try number("--streams", in: 1...Limits.streams, otherwise: otherwise).map { UInt32($0) }
  }

  /// A whole number; nil if the option is not given. `otherwise` says what happens then.
  func number(
    _ option: String, in range: ClosedRange<Int>, otherwise: String
  ) throws(Failure) -> Int? {
    guard let text = try text(option) else { return nil }
    guard text.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(text), range.contains(number) else {
      throw .usage(
        "\(option): invalid number '\(VisibleText.of(text))'",
        hint: "Write \(range.lowerBound) to \(range.upperBound), or remove the option: \(otherwise).")
    }
    return number
  }
}

extension Arguments {
  /// The time in which an exporter may append nothing; nil if the option is not given.
  func idleLimit() throws(Failure) -> IdleLimit? {
    let option = "--idle-limit"
    if try text(option) == "off" { return .off }
    guard let seconds = try seconds(option, hint: "Write seconds, or 90s, 10m, 2h, or off.") else { return nil }
    guard seconds > 0 else { throw .usage("\(option): the time must not be 0", hint: "Write a positive time, or off.") }
    return .seconds(seconds)
  }

  /// The claimed source of an app's data: a platform, optionally with a store after a comma; nil if
  /// the option is not given.
  func claim() throws(Failure) -> SourceClaim? {
    let option = "--as"
    guard let text = try text(option) else { return nil }
    let hint = "Write a platform, as in --as android, or one with a store, as in --as android,googlePlay."
    let parts = text.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard !parts[0].isEmpty else { throw .usage("\(option): missing platform", hint: hint) }
    guard parts.allSatisfy({ $0.utf8.count <= Limits.identifier && !$0.utf8.contains(0) }) else {
      throw .usage("\(option): a name is too long", hint: hint)
    }
    try Self.refuseMistyped(parts[0], of: option)
    return SourceClaim(platform: parts[0], store: parts.count > 1 ? parts[1] : nil)
  }

  /// The platform of the data's destination; nil if the option is not given.
  func platform() throws(Failure) -> String? {
    let option = "--platform"
    guard let platform = try text(option) else { return nil }
    guard (1...Limits.identifier).contains(platform.utf8.count) else {
      throw .usage("\(option): the name is empty or too long", hint: "Write a name such as linux or android.")
    }
    try Self.refuseMistyped(platform, of: option)
    return platform
  }

  /// Any word is a platform, except one that is nearly a known one.
  private static func refuseMistyped(_ platform: String, of option: String) throws(Failure) {
    guard !SourceClaim.platforms.contains(platform),
      let close = Suggestion.closest(to: platform.lowercased(), among: SourceClaim.platforms)
    else { return }
    throw .usage(
      "\(option): unknown platform '\(VisibleText.of(platform))'",
      hint: "Did you mean \(close)? The known platforms are \(SourceClaim.platforms.joined(separator: " and ")).")
  }
}

extension Arguments {
  /// The options for an app's exporter; no name occurs twice.
  func requestOptions(_ verb: Verb) throws(Failure) -> [AppRequest.Option] {
    var options: [AppRequest.Option] = []
    for word in all("--option") { options.append(try Self.option(word)) }
    var names: Set<String> = []
    for option in options where !names.insert(option.name).inserted {
      throw .usage("--option: \(VisibleText.quoted(option.name)) is given more than once", verb)
    }
    // All options travel in one message.
    guard options.reduce(0, { $0 + $1.name.utf8.count + $1.value.count }) <= Limits.optionValue else {
      throw .usage(
        "--option: the options are too long",
        hint: "All names and values together have at most \(Limits.optionValue) bytes.")
    }
    return options
  }

  private static func option(_ word: [UInt8]) throws(Failure) -> AppRequest.Option {
    let hint = "Write --option NAME=VALUE; the value may be empty."
    guard let equals = word.firstIndex(of: UInt8(ascii: "=")) else {
      throw .usage("--option: \(VisibleText.quoted(word)) has no value", hint: hint)
    }
    guard let name = String(validating: word[..<equals], as: UTF8.self), (1...255).contains(name.utf8.count) else {
      throw .usage("--option: \(VisibleText.quoted(Array(word[..<equals]))) is not a valid name", hint: hint)
    }
    return AppRequest.Option(name: name, value: Array(word[(equals + 1)...]))
  }
}
