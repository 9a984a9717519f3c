import MigrationSystem
import MigrationTransfer

/// Waits for the person at the terminal to want codes again, once too many wrong ones were entered.
enum RestartEntry {
  /// Asks at the terminal; nil where no person would see the request, or none could answer it.
  ///
  /// - Parameter interruption: what ends the program's waiting: a signal.
  static func asker(json: Bool, unless interruption: CInt) -> RestartAsker? {
    guard !json, Terminal.isTerminal(StandardStream.error.rawValue), let questioner = try? Questioner() else {
      return nil
    }
    return { until in answer((try? questioner.waitForEnter(unless: [interruption, until])) ?? .endOfInput) }
  }

  /// What a line comes to. Whatever stands in it: it ended with Enter.
  static func answer(_ line: Terminal.Line) -> Bool? {
    switch line {
    case .line: true
    case .endOfInput, .timedOut: false
    case .interrupted: nil
    }
  }
}
