import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire

/// Asks the person at the terminal to choose one of several devices.
enum DeviceEntry {
  /// The number of tries of a person.
  static let tries = 3

  /// Shows the devices, waits for a number, and returns the position of the chosen device.
  ///
  /// - Parameter interruptions: descriptors that end the waiting when they become readable.
  static func choose(
    among found: [DeviceAddress], _ output: Output, unless interruptions: [CInt]
  ) throws(Failure) -> Int {
    guard let questioner = Questioner() else {
      throw .usage(
        "several devices are waiting: \(found.map(\.shownName).joined(separator: ", "))", hint: "Choose one with --to.")
    }
    return try output.hold { () throws(Failure) in
      questioner.write(text(found))
      return try answer(
        among: found.count,
        { () throws(Failure) in
          try Failure.wrapping(questioner.ask(question(found.count), unless: interruptions))
        }, say: { questioner.write($0 + "\n") })
    }
  }

  /// The devices, each with its number.
  static func text(_ found: [DeviceAddress]) -> String {
    (["Several devices are waiting:"] + found.enumerated().map { "  \($0.offset + 1)  \($0.element.shown)" })
      .map { $0 + "\n" }.joined()
  }

  static func question(_ count: Int) -> String { "Which one? [1-\(count)] " }

  /// The chosen device, from at most `tries` typed lines.
  static func answer(
    among count: Int, _ next: () throws(Failure) -> Terminal.Line, say: (String) -> Void
  ) throws(Failure) -> Int {
    for _ in 0..<tries {
      switch try next() {
      case .interrupted: throw Failure(.interrupted, "interrupted before a device was chosen")
      case .endOfInput: throw Failure(.usage, "no device was chosen", hint: "Choose one with --to.")
      case .line(let bytes):
        let typed = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        if let number = Int(typed), (1...count).contains(number) { return number - 1 }
        say("Not a valid choice: type a number from 1 to \(count).")
      }
    }
    throw Failure(.usage, "no device was chosen", hint: "Choose one with --to.")
  }
}
