import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Gets the code from a person or a file.
///
/// Invalid codes are found here, before there is a connection: they cost no try at the other
/// device.
enum CodeEntry {
  /// The number of tries of a person.
  static let tries = 3

  /// Gets the code.
  ///
  /// - Parameters:
  ///   - device: the device that shows the code.
  ///   - left: how many tries are left after a wrong code.
  ///   - interruptions: descriptors that end the waiting when they become readable, such as a
  ///     `SignalSource`'s.
  static func read(
    _ source: SendOptions.CodeSource, of device: DeviceAddress, _ output: Output, left: Int? = nil,
    unless interruptions: [CInt] = []
  ) throws(Failure) -> TypedCode {
    switch source {
    case .prompt:
      return try prompt(device, output, interruptions)
    case .program:
      let questioner = ProgramQuestioner(output: output, interruptions: interruptions)
      var mistake: String?
      return try ask(
        isAtRelay: device.isRelay,
        { () throws(Failure) in
          try taken(
            try questioner.ask(
              .code, ["label": IfGiven(device.name), "address": device.host, "triesLeft": IfGiven(left)],
              mistake: mistake))
        }, say: { mistake = $0 })
    case .standardInput:
      if Terminal.isTerminal(0) { return try prompt(device, output, interruptions) }
      var line = try firstLine(0, "standard input", interruptions)
      defer { cleanse(&line) }
      return try check(line, from: "standard input", isAtRelay: device.isRelay)
    case .file(let path):
      let name = VisibleText.quoted(path)
      let file = try SystemError.mapped(Descriptor.openThroughLinks(path)) { CodeFile.file.unreadable(path, $0) }
      var line = try firstLine(file.raw, name, interruptions)
      defer { cleanse(&line) }
      return try check(line, from: name, isAtRelay: device.isRelay)
    }
  }

  /// Asks until there is a valid code, at most `tries` times. `ask` returns nil at the end of the
  /// input.
  static func ask(
    isAtRelay: Bool = false, _ ask: () throws(Failure) -> [UInt8]?, say: (String) -> Void
  ) throws(Failure) -> TypedCode {
    for _ in 0..<tries {
      guard var line = try ask() else { throw Failure(.pairing, "no code was entered") }
      defer { cleanse(&line) }
      do {
        let typed = try TypedCode(typed: line.span)
        if typed.place != nil || !isAtRelay { return typed }
        say("That is only the code: type the whole number, such as 577-4829-1367.")
      } catch {
        say(error.sentence)
      }
    }
    throw Failure(
      .pairing, "no valid code was entered",
      hint: "Check the code shown on the other device, and run the command again."
    )
  }

  /// Reads a line of a file as the code. There is no second try.
  static func check(
    _ line: [UInt8]?, from name: String, isAtRelay: Bool = false,
    hint: String = "Check the code shown on the other device."
  ) throws(Failure) -> TypedCode {
    let line = line ?? []
    do {
      let typed = try TypedCode(typed: line.span)
      guard isAtRelay, typed.place == nil else { return typed }
    } catch {
      let message =
        switch error {
        case .malformed: "the first line of \(name) is not a code of eight digits"
        case .mistyped: "the code in \(name) is not valid: one digit is wrong, or two are swapped"
        }
      throw Failure(.pairing, message, hint: hint)
    }
    throw Failure(
      .pairing, "the code in \(name) has no place in front of it, as 577 in 577-4829-1367",
      hint: "Write the whole number that the other device shows.")
  }

  /// The question to the person.
  static func question(_ device: DeviceAddress) -> String { "Code shown on \(device.shown): " }

  private static func prompt(
    _ device: DeviceAddress, _ output: Output, _ interruptions: [CInt]
  ) throws(Failure) -> TypedCode {
    guard let questioner = Questioner() else {
      throw .usage(
        "there is no terminal to ask for the code",
        hint: "Pass the code with --code-file FILE, or with --code-file - on standard input.")
    }
    return try output.hold { () throws(Failure) in
      try ask(
        isAtRelay: device.isRelay,
        { () throws(Failure) in
          try taken(
            try Failure.wrapping(questioner.ask(question(device), unless: interruptions)))
        }
      ) { questioner.write($0 + "\n") }
    }
  }

  private static func firstLine(
    _ raw: CInt, _ name: String, _ interruptions: [CInt]
  ) throws(Failure) -> [UInt8]? {
    let line = try SystemError.mapped(Terminal.readLine(from: raw, unless: interruptions)) {
      Failure(.failed, $0.about(name).description)
    }
    return try taken(line)
  }

  private static func taken(_ line: Terminal.Line) throws(Failure) -> [UInt8]? {
    switch line {
    case .line(let bytes): return bytes
    case .endOfInput: return nil
    case .interrupted: throw Failure(.interrupted, "interrupted before the code was entered")
    }
  }
}

extension PairingCode.Mistake {
  /// The sentence for the person who typed it.
  fileprivate var sentence: String {
    switch self {
    case .malformed: "That is not a code: a code has eight digits, such as 4829-1367."
    case .mistyped: "That is not a valid code: one digit is wrong, or two are swapped."
    }
  }
}
