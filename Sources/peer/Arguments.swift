import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The words behind a verb, sorted into options and operands but not yet understood.
///
/// Words are bytes: a path may be in no encoding at all.
struct Arguments: Equatable {
  /// An option that takes a value, and the value that it was given.
  struct Setting: Equatable {
    let option: String
    let value: [UInt8]
  }

  private let verb: Verb
  /// The options with their values, in the order in which they were typed.
  private(set) var settings: [Setting] = []
  private var flags: Set<String> = []
  /// What is no option, in the order in which it was typed.
  private(set) var operands: [[UInt8]] = []

  /// Sorts the words; `--` makes everything behind it an operand.
  init(_ words: [[UInt8]], of verb: Verb) throws(TransferFailure) {
    self.verb = verb
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == Array("--".utf8) {
        operands += rest
        return
      }
      if word.first == UInt8(ascii: "-"), word.count > 1 {
        try takeOption(word, followedBy: &rest)
      } else {
        operands.append(word)
      }
    }
  }

  /// Whether an option without a value was given.
  func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// An option's value as it was typed.
  func bytes(_ option: String) -> [UInt8]? { settings.first { $0.option == option }?.value }

  /// The values of an option that may be given more than once, in their order.
  func all(_ option: String) -> [[UInt8]] { settings.filter { $0.option == option }.map(\.value) }

  /// An option's value, which must be text.
  func text(_ option: String) throws(TransferFailure) -> String? {
    guard let bytes = bytes(option) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .usage("the value of \(option) is not UTF-8: \(VisibleText.quoted(bytes))", verb)
    }
    return text
  }

  /// The words of which an option's value must be one, as a part of a sentence.
  func choices(_ option: String) -> String {
    verb.options.first { $0.name == option }?.choicesInWords ?? "its value"
  }

  private mutating func takeOption(
    _ word: [UInt8], followedBy rest: inout ArraySlice<[UInt8]>
  ) throws(TransferFailure) {
    let parts = word.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    let typed = VisibleText.of(parts[0])
    guard let option = verb.options.first(where: { $0.names.contains(typed) }) else { throw unknown(typed) }
    let name = option.name
    let attached = parts.count > 1 ? Array(parts[1]) : nil

    guard let placeholder = option.value else {
      guard attached == nil else { throw .usage("\(typed) takes no value", verb) }
      flags.insert(name)
      return
    }
    guard option.isRepeatable || bytes(name) == nil else { throw .usage("\(name) is given twice", verb) }
    if let attached {
      guard !attached.isEmpty else { throw missingValue(name, placeholder) }
      settings.append(Setting(option: name, value: attached))
      return
    }
    // A value that looks like an option is more likely the next option; "-" alone is standard input.
    guard let value = rest.first, !value.isEmpty, value.first != UInt8(ascii: "-") || value.count == 1 else {
      throw missingValue(name, placeholder)
    }
    rest.removeFirst()
    settings.append(Setting(option: name, value: value))
  }

  private func missingValue(_ name: String, _ placeholder: String) -> TransferFailure {
    .usage("\(name) needs a value", hint: "write \(name) \(placeholder), or \(name)=VALUE for one that starts with '-'")
  }

  private func unknown(_ name: String) -> TransferFailure {
    if verb == .send, name == "--code" {
      return .usage(
        "a code is not taken from the command line, where every user of this device could read it",
        hint: "leave it out and type it when asked, or use --code-file FILE")
    }
    let message = "'peer \(verb.rawValue)' has no option '\(name)'"
    guard let close = Suggestion.closest(to: name, among: verb.options.map(\.name)) else {
      return .usage(message, verb)
    }
    return .usage(message, hint: "did you mean \(close)?")
  }
}

extension TransferFailure {
  /// The command line is wrong, and this is how to mend it.
  static func usage(_ message: String, hint: String) -> TransferFailure {
    TransferFailure(.usage, message, hint: hint)
  }

  /// The command line is wrong, and the help says how it should be.
  static func usage(_ message: String, _ verb: Verb) -> TransferFailure {
    .usage(message, hint: "run 'peer \(verb.rawValue) --help' to see what it takes")
  }
}
