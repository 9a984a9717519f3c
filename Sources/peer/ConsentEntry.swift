import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Asks the person at the terminal whether to accept another device's offer: each one with --ask,
/// and one that can bring commands into the home directory.
struct ConsentEntry: Sendable {
  /// The number of answers that may be neither yes nor no.
  private static let tries = 3
  /// How many names are shown.
  private static let shownNames = 20

  let output: Output
  /// The descriptor of a signal that ends the waiting.
  let interruption: CInt
  /// Whether each offer is asked about.
  let asksAlways: Bool
  /// Whether the destination is the home directory.
  let isHome: Bool

  /// Fails without a terminal.
  static func check() throws(TransferFailure) {
    do {
      _ = try Questioner()
    } catch {
      throw .usage(
        "--ask needs a terminal", hint: "remove --ask: the code that the sender enters is consent enough")
    }
  }

  /// Shows an offer and waits for yes or no; nil if the answer is no longer needed.
  func ask(_ question: ConsentQuestion, until: CInt) -> Bool? {
    let running = isHome ? question.offer.running : []
    guard asksAlways || !running.isEmpty else { return true }
    return output.hold { () -> Bool? in
      guard let questioner = try? Questioner() else { return false }
      questioner.write(Self.text(question, running: running))
      return Self.answer {
        (try? questioner.ask("Accept this? [y/N] ", unless: [interruption, until])) ?? .endOfInput
      }
    }
  }

  /// The meaning of the typed lines. No answer means no.
  static func answer(_ next: () -> Terminal.Line) -> Bool? {
    for _ in 0..<tries {
      switch next() {
      case .interrupted: return nil
      case .endOfInput, .timedOut: return false
      case .line(let line):
        switch String(decoding: line, as: UTF8.self).lowercased().filter({ !$0.isWhitespace }) {
        case "y", "yes": return true
        case "", "n", "no": return false
        default: continue
        }
      }
    }
    return false
  }

  /// The offer in full, with all terminal controls made visible, and the names of the items that
  /// can run commands.
  static func text(_ question: ConsentQuestion, running: [[UInt8]] = []) -> String {
    var lines = ["", "\(DeviceAddress.shown(question.label, question.address)) wants to send:"]
    switch question.offer.contents {
    case .folders(let roots):
      lines += roots.prefix(shownNames).map { root in
        let mark = root.kind == .directory ? "/" : root.kind == .symbolicLink ? " (a link)" : ""
        return "  \(VisibleText.listed(root.name))\(mark)"
      }
      if roots.count > shownNames { lines.append("  and \(Figures.count(UInt64(roots.count - shownNames))) more") }
    case .app(let app): lines.append("  the data of \(VisibleText.of(app.bundleIdentifier))\(app.origin)")
    }
    lines.append(amount(question))
    if !running.isEmpty {
      lines.append("In your home directory, these can run commands, for instance at your next login:")
      lines += running.prefix(shownNames).map { "  \(VisibleText.listed($0))" }
      if running.count > shownNames { lines.append("  and \(Figures.count(UInt64(running.count - shownNames))) more") }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The announced size, the largest possible size, and the free space.
  private static func amount(_ question: ConsentQuestion) -> String {
    let (items, bytes) = (Figures.count(question.offer.items, "item"), Figures.size(question.offer.bytes))
    let about = question.offer.flags.contains(.estimated) ? "about " : ""
    let figures = question.mostBytes.map {
      "\(about)\(items), about \(bytes), may grow; at most \(Figures.size($0))"
    }
    let room = question.availableBytes.map { "; \(Figures.size($0)) free here" } ?? ""
    return (figures ?? "\(about)\(items), \(bytes)") + room
  }
}

extension Offer {
  /// The names of the roots that begin with a dot.
  fileprivate var running: [[UInt8]] {
    if case .folders(let roots) = contents { roots.filter(\.isRunning).map(\.name) } else { [] }
  }
}
