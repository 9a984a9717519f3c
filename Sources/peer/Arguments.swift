import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The words after a command, sorted into options and operands but not yet parsed.
///
/// Words are bytes: a path may have no valid encoding.
struct Arguments: Equatable {
  /// An option with its value.
  struct Setting: Equatable {
    let option: String
    let value: [UInt8]
  }

  private let verb: Verb
  /// The options with values, in the order in which they were typed.
  private(set) var settings: [Setting] = []
  private var flags: Set<String> = []
  /// All other words, in the order in which they were typed.
  private(set) var operands: [[UInt8]] = []
  /// How many options with values stand in front of the first other word.
  private(set) var settingsInFront = 0

  /// Sorts the words; after `--`, every word is an operand.
  init(_ words: [[UInt8]], of verb: Verb) throws(Failure) {
    self.verb = verb
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == Array("--".utf8) {
        if operands.isEmpty { settingsInFront = settings.count }
        operands += rest
        return
      }
      if word.first == UInt8(ascii: "-"), word.count > 1 {
        try takeOption(word, followedBy: &rest)
      } else {
        if operands.isEmpty { settingsInFront = settings.count }
        operands.append(word)
      }
    }
  }

  /// Whether an option without a value was given.
  func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// An option's value as typed.
  func bytes(_ option: String) -> [UInt8]? { settings.first { $0.option == option }?.value }

  /// Whether an option was given, with a value or without one.
  func isGiven(_ option: String) -> Bool { has(option) || bytes(option) != nil }

  /// The values of a repeatable option, in their order.
  func all(_ option: String) -> [[UInt8]] { settings.filter { $0.option == option }.map(\.value) }

  /// An option's value, which must be text.
  func text(_ option: String) throws(Failure) -> String? {
    guard let bytes = bytes(option) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .usage("the value of \(option) is not UTF-8: \(VisibleText.quoted(bytes))", verb)
    }
    return text
  }

  /// Fails if there is a word that is no option.
  func refuseOperands() throws(Failure) {
    if let stray = operands.first { throw .usage("unexpected argument \(VisibleText.quoted(stray))", verb) }
  }

  /// The words that an option's value may be, as part of a sentence.
  func choices(_ option: String) -> String {
    verb.options.first { $0.name == option }?.choicesInWords ?? "its value"
  }

  private mutating func takeOption(
    _ word: [UInt8], followedBy rest: inout ArraySlice<[UInt8]>
  ) throws(Failure) {
    let parts = word.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    let typed = VisibleText.of(parts[0])
    guard let option = verb.options.first(where: { $0.names.contains(typed) }) else { throw unknown(typed) }
    let name = option.name
    let attached = parts.count > 1 ? Array(parts[1]) : nil

    guard let placeholder = option.value else {
      guard attached == nil else { throw .usage("option \(typed) takes no value", verb) }
      flags.insert(name)
      return
    }
    guard option.isRepeatable || bytes(name) == nil else {
      throw .usage("option \(name) is given more than once", verb)
    }
    if let attached {
      guard !attached.isEmpty else { throw missingValue(name, placeholder) }
      settings.append(Setting(option: name, value: attached))
      return
    }
    // A value that looks like an option is more likely the next option; "-" alone means standard
    // input.
    guard let value = rest.first, !value.isEmpty, value.first != UInt8(ascii: "-") || value.count == 1 else {
      throw missingValue(name, placeholder)
    }
    rest.removeFirst()
    settings.append(Setting(option: name, value: value))
  }

  private func missingValue(_ name: String, _ placeholder: String) -> Failure {
    .usage(
      "option \(name) requires a value",
      hint: "Write \(name) \(placeholder), or \(name)=VALUE if it starts with '-'.")
  }

  private func unknown(_ name: String) -> Failure {
    if verb == .send, name == "--code" {
      return .usage(
        "--code is not an option: every user of this device could read a code on the command line",
        hint: "Type the code when asked, or use --code-file FILE.")
    }
    let message = "unknown option \(name)"
    guard let close = Suggestion.closest(to: name, among: verb.options.map(\.name)) else {
      return .usage(message, verb)
    }
    return .usage(message, hint: "Did you mean \(close)?")
  }
}

extension Failure {
  /// A usage error with a hint.
  static func usage(_ message: String, hint: String) -> Failure {
    Failure(.usage, message, hint: hint)
  }

  /// A usage error whose hint is the command's help.
  static func usage(_ message: String, _ verb: Verb) -> Failure {
    .usage(message, hint: "Run 'peer \(verb.rawValue) --help' to see its usage.")
  }
}

/// Guesses the intended name for a mistyped one.
enum Suggestion {
  /// The nearest of some names; nil if none is near.
  static func closest(to typed: String, among names: [String]) -> String? {
    let nearest = names.map { (name: $0, distance: distance(typed, $0)) }.min { $0.distance < $1.distance }
    if let nearest, nearest.distance <= max(1, nearest.name.count / 3) { return nearest.name }
    // The beginning of a name is as good as a typing error.
    let begun = names.filter { typed.count > 2 && $0.hasPrefix(typed) }
    return begun.count == 1 ? begun.first : nil
  }

  /// The number of letters to insert, delete, change or swap with their neighbours.
  static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left)
    let right = Array(right)
    var table = [Array(0...right.count)]
    for row in 1..<(left.count + 1) {
      var line = [row]
      for column in 1..<(right.count + 1) {
        let isSame = left[row - 1] == right[column - 1]
        var best = min(table[row - 1][column] + 1, line[column - 1] + 1, table[row - 1][column - 1] + (isSame ? 0 : 1))
        if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
          best = min(best, table[row - 2][column - 2] + 1)
        }
        line.append(best)
      }
      table.append(line)
    }
    return table[left.count][right.count]
  }
}
