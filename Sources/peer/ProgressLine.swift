import MigrationEngine
import MigrationTransfer

/// The line with the progress of a transfer, as wide as the terminal allows.
struct ProgressLine: Equatable, Sendable {
  /// The characters of a bar.
  struct Bar: Equatable, Sendable {
    let full: Character
    let empty: Character

    /// Blocks, for a terminal with UTF-8.
    static let blocks = Bar(full: "█", empty: "░")
    /// ASCII, for all others.
    static let plain = Bar(full: "#", empty: ".")
  }

  private static let shortestBar = 8
  private static let longestBar = 40
  private static let longestPhase = 9

  let progress: TransferProgress
  let bytesPerSecond: Double?
  let secondsLeft: Double?

  /// The state of a meter; nil if it has none.
  init?(_ meter: ProgressMeter) {
    guard let latest = meter.latest else { return nil }
    progress = latest
    bytesPerSecond = meter.bytesPerSecond
    secondsLeft = meter.secondsLeft
  }

  /// The line for a terminal. It leaves the last column free; the least important parts are omitted
  /// first.
  func text(columns: Int, bar: Bar) -> String {
    let room = columns - 1
    guard let percent = progress.percent else {
      return String(([phase] + tally + rate).joined(separator: "  ").prefix(max(0, room)))
    }
    let head = "\(phase)  \(Figures.padded("\(percent)%", to: 4))"
    let candidates: [(tail: [String], hasBar: Bool)] = [
      (share + items + rate + left, true),
      (share + rate + left, true),
      (share + left, true),
      (share + left, false),
      (left, false),
      ([], false),
    ]
    for candidate in candidates {
      let tail = candidate.tail.map { "  " + $0 }.joined()
      let rest = room - head.count - tail.count
      if candidate.hasBar, rest > Self.shortestBar {
        let length = min(rest - 1, Self.longestBar)
        return "\(phase)  \(drawn(bar, length)) \(head.dropFirst(phase.count + 2))\(tail)"
      }
      if !candidate.hasBar, rest >= 0 { return head + tail }
    }
    return String("\(percent)%".prefix(max(0, room)))
  }

  /// The line for a log.
  var plainText: String {
    guard let percent = progress.percent else {
      let rate = bytesPerSecond.map { isBeyondEstimate ? [Figures.rate($0)] : [] } ?? []
      return ([name] + [(tally + rate).joined(separator: ", ")].filter { !$0.isEmpty }).joined(separator: ": ")
    }
    var parts = ["\(percent) %"]
    if total > 0 { parts.append("\(Figures.size(progress.bytes)) of \(Figures.size(total))") }
    if progress.totalItems > 0 { parts.append(itemShare) }
    if let bytesPerSecond { parts.append(Figures.rate(bytesPerSecond)) }
    if let secondsLeft, secondsLeft > 0 { parts.append("\(Figures.clock(secondsLeft)) left") }
    return "\(name): " + parts.joined(separator: ", ")
  }

  /// The total in bytes; 0 if it is unknown.
  private var total: UInt64 { progress.totalBytes ?? 0 }

  /// Whether more has come than the estimate.
  private var isBeyondEstimate: Bool { progress.totalBytes == nil }

  private var name: String { progress.phase.rawValue }

  private var phase: String {
    let name = name.prefix(1).uppercased() + name.dropFirst()
    return name + String(repeating: " ", count: max(0, Self.longestPhase - name.count))
  }

  /// The count so far, while the total is unknown.
  private var tally: [String] {
    guard progress.items > 0 || progress.bytes > 0 else { return [] }
    return ["\(Figures.count(progress.items, "item")), \(Figures.size(progress.bytes))"]
  }

  private var itemShare: String {
    "\(Figures.count(min(progress.items, progress.totalItems)))/\(Figures.count(progress.totalItems, "item"))"
  }

  // The parts of the tail keep their widths, so that the bar does not move.

  private var share: [String] {
    total > 0 ? [Figures.share(progress.bytes, of: total)] : []
  }

  private var items: [String] {
    guard progress.totalItems > 0 else { return [] }
    let whole = Figures.count(progress.totalItems)
    return [Figures.padded(itemShare, to: 2 * whole.count + (progress.totalItems == 1 ? 6 : 7))]
  }

  private var rate: [String] {
    total > 0 || isBeyondEstimate ? [Figures.padded(bytesPerSecond.map(Figures.rate) ?? "", to: 9)] : []
  }

  private var left: [String] {
    guard total > 0 else { return [] }
    return [Figures.padded(secondsLeft.map { "\(Figures.clock($0)) left" } ?? "", to: 10)]
  }

  private func drawn(_ bar: Bar, _ length: Int) -> String {
    let full = Int(Double(length) * (progress.fraction ?? 0))
    return String(repeating: bar.full, count: full) + String(repeating: bar.empty, count: length - full)
  }
}
