import MigrationEngine
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The report for a person: lines on standard error, the result on standard output.
///
/// On a terminal one line below them is drawn over and over; elsewhere progress is said now and then.
struct HumanReport: Report {
  /// What standard error is.
  enum Surface: Equatable, Sendable {
    case terminal(ProgressLine.Bar)
    case log
  }

  /// The least time between two drawings on a terminal, in seconds.
  private static let drawingInterval = 0.1
  /// The least time between two lines about progress in a log, and the time after which one comes in any case.
  private static let logInterval = 5.0, longestSilence = 60.0
  /// The progress in percent that is worth a line in a log.
  private static let logStep = 10
  /// How few wrong codes are left when each one says so.
  private static let fewGuesses = 10
  /// To the start of the line, and erase it.
  private static let erase = "\r\u{1B}[2K"

  let role: Role
  let surface: Surface
  /// What the other device has to name for sending.
  let wanted: String
  /// Whether more is said than most people need.
  let isVerbose: Bool
  /// What stands in front of the lines that extensions write; nil where they say themselves whose they are.
  let speaker: String?
  private(set) var unsent = UnsentList()
  private var meter = ProgressMeter()
  private var isDrawn = false
  private var shownCode: PairingCode?
  /// Whether what comes next is about another transfer.
  private var isTransferOver = false
  private var logged: (time: Double, phase: TransferPhase, percent: Int)?

  init(
    _ role: Role, on surface: Surface, wanting wanted: String = "PATH...", isVerbose: Bool = false,
    speaker: String? = "extension"
  ) {
    self.speaker = speaker
    self.role = role
    self.surface = surface
    self.wanted = wanted
    self.isVerbose = isVerbose
  }

  mutating func handle(_ event: TransferEvent, at moment: Moment) -> Rendering {
    forgetWhatIsOver(before: event)
    switch event {
    case .listening(let listening):
      return say(Invitation(listening, wanting: wanted, isVerbose: isVerbose).text)
    case .announced(let name): return say("Found on this network as: \(VisibleText.of(name))")
    case .unannounced(let reason):
      return say("peer: note: this device cannot be found on the network: \(VisibleText.message(reason))")
    case .code(let code, let lifetime):
      let heading = shownCode.map { $0 == code ? "Code, still" : "New code" } ?? "Code"
      shownCode = code
      return say("\(heading): \(code.shown)   (works once, for \(Figures.span(lifetime)))")
    case .codeAwaited(let lifetime):
      return say("The code of --code-file works once, for \(Figures.span(lifetime)), from now on.")
    case .confined: return Rendering()
    case .unconfined(let reason, _): return say("peer: note: \(reason)")
    case .wrongCode(let attempt, let allowed, let from, let left):
      let isNear = left > 0 && left < Self.fewGuesses
      let end = isNear ? " \(Figures.count(UInt64(left))) more, and no code is shown any more." : ""
      return say("Someone entered a wrong code (\(attempt) of \(allowed)) from \(VisibleText.of(from)).\(end)")
    case .codesSpent(let count, let guessers, let isOver):
      return say(Self.end(count, guessers, isOver: isOver))
    case .looking: return say("Looking for a device that waits in this network")
    case .found(let label, let address):
      return say("Found \(Nearby(label: label, instance: nil, address: address).shown).")
    case .connecting(let address):
      return say("Connecting to \(VisibleText.of(address))")
    case .paired(let label, let address):
      let (label, address) = (VisibleText.of(label), VisibleText.of(address))
      return say(label.isEmpty ? "Paired with \(address)." : "Paired with \(label) (\(address)).")
    case .offer(let offer, let availableBytes):
      return say(offer.sentence(role, availableBytes: availableBytes))
    case .progress(let progress):
      meter.note(progress, at: moment.elapsed)
      return progressLine(at: moment)
    case .interrupted(let reason):
      meter.stop()
      return say("Connection lost: \(VisibleText.message(reason)). Going on as soon as it is back.")
    case .resumed(let heldBytes):
      meter.stop()
      // What could not be sent is named again.
      unsent.note(event)
      return say("Going on: \(Figures.size(heldBytes)) have arrived already.")
    case .notice(let text):
      return say("peer: note: \(text)")
    case .staged:
      return say("Everything has arrived.")
    case .importing:
      return handle(.progress(.starting(.importing)), at: moment)
    case .unsent, .notStored:
      unsent.note(event)
      return Rendering()
    case .renamed(let path, let target):
      unsent.note(UnsentList.Renaming(path: path, target: target))
      return Rendering()
    case .extensionOutput(_, let line):
      return say((speaker.map { "\($0): " } ?? "") + VisibleText.of(line))
    case .done(let result):
      meter.stop()
      var rendering = clear()
      rendering.standardOutput = result.text(role, unsent)
      isTransferOver = true
      return rendering
    case .failed(let failure):
      meter.stop()
      isTransferOver = true
      return fail(failure)
    }
  }

  private mutating func forgetWhatIsOver(before event: TransferEvent) {
    if case .done = event { return }
    if isTransferOver { (unsent, logged) = (UnsentList(), nil) }
    isTransferOver = false
  }

  mutating func tick(at moment: Moment) -> Rendering {
    meter.note(at: moment.elapsed)
    return progressLine(at: moment)
  }

  mutating func clear() -> Rendering {
    defer { isDrawn = false }
    return Rendering(standardError: isDrawn ? Self.erase : "")
  }

  mutating func missed(_ count: UInt64) -> Rendering {
    say(
      "peer: note: \(Figures.count(count, "message")) \(count == 1 ? "was" : "were") left out, since nobody read \(count == 1 ? "it" : "them")"
    )
  }

  mutating func fail(_ failure: TransferFailure) -> Rendering { say(failure.text.dropLast()) }

  /// Writes lines that stay, above the one that is drawn over; the next tick draws that again.
  private mutating func say(_ lines: some StringProtocol) -> Rendering {
    var rendering = clear()
    rendering.standardError += lines + "\n"
    return rendering
  }

  private mutating func progressLine(at moment: Moment) -> Rendering {
    switch surface {
    case .terminal(let bar): draw(bar, at: moment)
    case .log: log(at: moment)
    }
  }

  private mutating func draw(_ bar: ProgressLine.Bar, at moment: Moment) -> Rendering {
    guard meter.isDue(at: moment.elapsed, every: Self.drawingInterval), let line = ProgressLine(meter) else {
      return Rendering()
    }
    isDrawn = true
    return Rendering(standardError: Self.erase + line.text(columns: moment.columns, bar: bar))
  }

  private mutating func log(at moment: Moment) -> Rendering {
    guard let line = ProgressLine(meter) else { return Rendering() }
    let percent = line.progress.percent ?? 0
    if let logged, logged.phase == line.progress.phase {
      let silence = moment.elapsed - logged.time
      let isStep = percent / Self.logStep > logged.percent / Self.logStep
      guard silence >= Self.longestSilence || (isStep && silence >= Self.logInterval) else { return Rendering() }
    }
    logged = (moment.elapsed, line.progress.phase, percent)
    return say(line.plainText)
  }
}

extension TransferProgress {
  /// A phase of which nothing is known but that it begins.
  fileprivate static func starting(_ phase: TransferPhase) -> TransferProgress {
    TransferProgress(phase: phase, bytes: 0, totalBytes: 0, items: 0, totalItems: 0)
  }
}
