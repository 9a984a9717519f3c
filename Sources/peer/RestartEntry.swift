import MigrationSystem
import MigrationTransfer

/// Waits until the person at the terminal wants new codes after too many wrong ones.
enum RestartEntry {
  /// Asks at the terminal; nil if no person would see the request, or none could answer it.
  ///
  /// - Parameter interruption: the descriptor of a signal that ends the waiting.
  static func asker(json: Bool, unless interruption: CInt) -> RestartAsker? {
    guard !json, Terminal.isTerminal(StandardStream.error.rawValue), let questioner = Questioner() else {
      return nil
    }
    return { until in answer((try? questioner.waitForEnter(unless: [interruption, until])) ?? .endOfInput) }
  }

  /// The meaning of a line. Any text is accepted, since Enter ended it.
  static func answer(_ line: Terminal.Line) -> Bool? {
    switch line {
    case .line: true
    case .endOfInput: false
    case .interrupted: nil
    }
  }
}
