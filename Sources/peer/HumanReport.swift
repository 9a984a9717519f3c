import MigrationApps
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The report for a person: lines on standard error, the result on standard output.
///
/// On a terminal, the line below them is redrawn with the progress; elsewhere, progress is written
/// now and then.
struct HumanReport: Report {
  /// The kind of standard error.
  enum Surface: Equatable, Sendable {
    case terminal(ProgressLine.Bar)
    case log
  }

  /// The shortest time between two drawings on a terminal, in seconds.
  private static let drawingInterval = 0.1
  /// The shortest time between two lines about progress in a log.
  private static let logInterval = 60.0
  /// A wrong code is followed by the number of remaining tries if they are fewer than this.
  private static let fewGuesses = 10
  /// The width of a table after a failure.
  private static let failureColumns = 80
  /// Returns to the start of the line, and erases it.
  private static let erase = "\r\u{1B}[2K"

  let role: Role
  let surface: Surface
  /// The words after `peer send` on the other device.
  let wanted: String
  /// Whether all details are shown.
  let isVerbose: Bool
  /// The prefix of the lines of extensions; nil if the lines have one already.
  let speaker: String?
  private(set) var unsent = NotStoredList()
  /// The parts of a plan with several parts.
  private var migration = PartEnds()
  /// The command line of this device, to be pasted.
  private let command: String
  /// The ends of parts that were said.
  private var saidEnds: Set<String> = []
  private var meter = ProgressMeter()
  private var isDrawn = false
  private var shownCode: String?
  /// Whether the next event belongs to another transfer.
  private var isTransferOver = false
  /// Whether the transfer is an app's.
  private var isApp = false
  /// The firewall, which may keep the other device away.
  private let firewall: Firewall
  /// The time since which this device waits for the other device, and the advice for then; nil otherwise.
  private var waiting: (since: Double, advice: String)?
  /// The last address of the receiver, for a sender.
  private var address: String?

  init(
    _ role: Role, on surface: Surface, wanting wanted: String = "PATH...", isVerbose: Bool = false,
    speaker: String? = "extension", command: String = "peer", behind firewall: Firewall = .unknown
  ) {
    self.command = command
    self.firewall = firewall
    self.speaker = speaker
    self.role = role
    self.surface = surface
    self.wanted = wanted
    self.isVerbose = isVerbose
  }

  mutating func handle(_ event: TransferEvent, at moment: Moment) -> Rendering {
    forgetWhatIsOver(before: event)
    migration.note(event, at: moment.elapsed)
    if event.isFromOther { waiting = nil }
    switch event {
    case .listening(let listening):
      waiting = (moment.elapsed, firewall.advice(listening))
      return say(Invitation(listening, wanting: wanted, isVerbose: isVerbose).text)
    case .announced(let name): return say("Found on this network as: \(VisibleText.of(name))")
    case .unannounced(let reason):
      return say("peer: note: other devices cannot find this one on the network: \(VisibleText.message(reason))")
    case .transfer: return Rendering()
    case .code(let code, let lifetime, let place):
      let shown = place?.shown(with: code) ?? code.shown
      let heading = shownCode.map { $0 == shown ? "Code (unchanged)" : "New code" } ?? "Code"
      shownCode = shown
      return say("\(heading): \(shown)   (works once, for \(Figures.span(lifetime)))")
    case .codeAwaited(let lifetime):
      return say("The code in --code-file works once, for \(Figures.span(lifetime)) from now.")
    case .confined: return Rendering()
    case .unconfined(let reason, _): return say("peer: note: \(reason)")
    case .wrongCode(let attempt, let allowed, let from, let left):
      let isNear = left > 0 && left < Self.fewGuesses
      let end = isNear ? " \(Figures.count(UInt64(left))) more, and no new code is shown." : ""
      return say("Wrong code (\(attempt) of \(allowed)) from \(VisibleText.of(from)).\(end)")
    case .codesSpent(let count, let guessers, let isOver):
      return say(Self.end(count, guessers, isOver: isOver))
    case .looking:
      waiting = (moment.elapsed, firewall.advice(toSenderFor: nil))
      return say("Searching this network for a waiting device")
    case .found(let label, let address):
      return say("Found \(DeviceAddress.shown(label, address)).")
    case .connecting(let address):
      self.address = address
      waiting = (moment.elapsed, firewall.advice(toSenderFor: address))
      return say("Connecting to \(VisibleText.of(address))")
    case .queued(let place):
      let others = [0: "others come", 1: "another one comes"][place] ?? "\(place) others come"
      return say("Waiting for this device's turn: \(others) first.")
    case .paired(let label, let address, let isKnown):
      let device = DeviceAddress.shown(label, address)
      return say(isKnown ? "Connected with \(device), a known device." : "Paired with \(device).")
    case .relayed(let relay, let bytes):
      let amount = bytes > 0 ? "up to \(Figures.size(bytes))" : "everything"
      return say(
        "Through the relay \(VisibleText.of(relay)), \(amount): it sees both addresses, times and amounts, no data.")
    case .dataConnection(.direct(let isIPv6)):
      return say("From here on, the data goes directly to the other device, by \(isIPv6 ? "IPv6" : "IPv4").")
    case .dataConnection(.relay(let relay)):
      return say("The data goes through the relay \(VisibleText.of(relay)) again.")
    case .offer(let offer, let availableBytes, let part):
      if case .app = offer.contents { isApp = true } else { isApp = false }
      unsent.note(event)
      return say(offer.sentence(role, of: part, availableBytes: availableBytes))
    case .plan(let parts, let availableBytes):
      isApp = false
      return say(parts.sentence(role, availableBytes: availableBytes))
    case .progress(let progress):
      meter.note(progress, at: moment.elapsed)
      return progressLine(at: moment)
    case .interrupted(let reason):
      meter.stop()
      if role == .sender { waiting = (moment.elapsed, firewall.advice(toSenderFor: address)) }
      return say("Connection lost: \(VisibleText.message(reason)). Will resume when the connection returns.")
    case .resumed(let heldBytes):
      meter.stop()
      // Items that could not be sent are named again.
      unsent.note(event)
      return say("Resuming: \(Figures.size(heldBytes)) already received.")
    case .notice(let text):
      return say("peer: note: \(text)")
    case .staged:
      // Of several parts, the last one alone says it.
      return migration.hasMore ? Rendering() : say("All data has arrived.")
    case .importing:
      return handle(.progress(.starting(.importing)), at: moment)
    case .notStored, .renamed:
      unsent.note(event)
      return Rendering()
    case .extensionOutput(_, let line):
      return say((speaker.map { "\($0): " } ?? "") + VisibleText.of(line))
    case .done(let result):
      meter.stop()
      var rendering = clear()
      if let table = migration.table(command) {
        // First what a person has to do.
        rendering.standardOutput =
          result.headline(role) + table.head(columns: moment.columns) + result.details(role, unsent, besidesTable: true)
          + table.rest(columns: moment.columns)
      } else {
        rendering.standardOutput = result.text(role, unsent)
        let hint =
          command.contains(" --everything")
          ? "\(DataHint.itemsMissingOfHome.text)\n  \(command)" : DataHint.itemsMissing.text
        if !isApp, !unsent.isComplete(result) { rendering.standardOutput += hint + "\n" }
      }
      isTransferOver = true
      return rendering
    case .partEnded(let end):
      // One sentence at the end says what was not taken. An earlier session has said the others already.
      let isToldOnce = end.isDeclined || end.result.failure?.isOfPlainReceiver(command) == true
      guard !isToldOnce, saidEnds.insert(end.sentence).inserted else { return Rendering() }
      return say(end.sentence)
    case .failed(let failure):
      meter.stop()
      isTransferOver = true
      return fail(failure)
    case .of(_, let event): return handle(event, at: moment)
    }
  }

  mutating func advise(_ steps: [NextStep], leavingOut leftOut: [Omission]) {
    (migration.advice, migration.leftOut) = (steps.map(\.sentence), leftOut)
  }

  private mutating func forgetWhatIsOver(before event: TransferEvent) {
    if case .done = event { return }
    if isTransferOver { (unsent, saidEnds, migration) = (NotStoredList(), [], PartEnds()) }
    isTransferOver = false
  }

  mutating func tick(at moment: Moment) -> Rendering {
    if let (since, advice) = waiting, moment.elapsed - since >= Firewall.patience {
      waiting = nil
      return say(advice)
    }
    meter.note(at: moment.elapsed)
    return progressLine(at: moment)
  }

  mutating func clear() -> Rendering {
    defer { isDrawn = false }
    return Rendering(standardError: isDrawn ? Self.erase : "")
  }

  mutating func missed(_ count: UInt64) -> Rendering {
    say(
      "peer: note: \(Figures.count(count, "message")) \(count == 1 ? "was" : "were") left out, since the output was not read"
    )
  }

  mutating func fail(_ failure: Failure) -> Rendering {
    let failure = failure.of(command)
    let isOnTerminal = if case .terminal = surface { true } else { false }
    let text = isOnTerminal ? failure.text(columns: Self.failureColumns) : failure.text
    var rendering = say(text.dropLast())
    if migration.isOver, let table = migration.table(command) {
      rendering.standardOutput += table.text(columns: Self.failureColumns, after: failure)
    }
    return rendering
  }

  /// Writes lines above the progress line; the next tick redraws that.
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
    guard meter.isDue(at: moment.elapsed, every: Self.logInterval, unchanged: .infinity),
      let line = ProgressLine(meter)
    else { return Rendering() }
    return say(line.plainText)
  }
}

extension TransferProgress {
  /// The start of a phase, without figures.
  fileprivate static func starting(_ phase: TransferProgress.Phase) -> TransferProgress {
    TransferProgress(phase: phase, bytes: 0, totalBytes: 0, items: 0, totalItems: 0)
  }
}

extension HumanReport.Surface {
  /// The surface of standard error, and the bar that can be drawn on it.
  static var standardError: HumanReport.Surface {
    guard Terminal.isTerminal(StandardStream.error.rawValue), Environment.get("TERM") != "dumb" else { return .log }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(Environment.get).first { !$0.isEmpty } ?? ""
    let isUTF8 = locale.lowercased().hasSuffix("utf-8") || locale.lowercased().hasSuffix("utf8")
    return .terminal(isUTF8 ? .blocks : .plain)
  }
}
