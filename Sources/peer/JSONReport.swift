import MigrationApps
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The report for a program: one JSON object a line, each with its "event".
///
/// The set of events and members only grows. Texts are exact and not escaped for terminals: the
/// reader has to do that.
struct JSONReport: Report {
  /// The shortest time between two lines about progress, in seconds.
  private static let interval = 0.1
  /// The time after which a line is repeated, although nothing has changed.
  private static let longestSilence = 1.0

  private var meter = ProgressMeter()
  /// The end that reports, if one program is both ends.
  private let side: Side?
  /// The time of an event, in seconds since 1970; nil for lines without a time.
  private let clock: (@Sendable () -> Int64)?
  /// The firewall of this device, for advice while it waits; nil for none.
  private let firewall: Firewall?
  /// The transfer that the events are about. If several run at a time, this event tells the transfer.
  private var transfer: TransferID?
  private var told: TransferID?
  /// The next steps of the user.
  private var nextSteps: [NextStep]?
  /// The entries that have changed since an unfinished move began, and are not in it.
  private var newer: [JSONMembers]?

  init(_ side: Side? = nil, behind firewall: Firewall? = nil, clock: (@Sendable () -> Int64)? = nil) {
    self.side = side
    self.clock = clock
    self.firewall = firewall
  }

  /// The report of a run, whose events have times.
  static func ofRun(_ side: Side? = nil, behind firewall: Firewall? = nil) -> JSONReport {
    JSONReport(side, behind: firewall) { Timestamp.coarseNow().seconds }
  }

  mutating func handle(_ event: TransferEvent, at moment: Moment) -> Rendering {
    switch event {
    case .listening(let listening):
      return line(
        "listening",
        [
          "addresses": listening.addresses, "shown": listening.shown, "port": listening.port, "from": listening.from,
          "advice": IfGiven(firewall?.advice(listening)), "firewall": IfGiven(firewall?.command(listening)),
        ])
    case .announced(let name): return line("announced", ["name": name])
    case .unannounced(let reason): return line("unannounced", ["reason": reason])
    case .code(let code, let lifetime, let place):
      let expires = CalendarTime.text(moment.wall + Int64(Figures.whole(lifetime)))
      return line("code", ["code": place?.shown(with: code) ?? code.shown, "expires": expires])
    case .codeAwaited(let lifetime):
      let expires = CalendarTime.text(moment.wall + Int64(Figures.whole(lifetime)))
      return line("code", ["code": nil as String?, "expires": expires])
    case .confined(let directories):
      return line("confined", ["directories": directories.map(Self.path)])
    case .unconfined(let reason, let directories):
      return line("unconfined", ["message": reason, "directories": directories.map(Self.path)])
    case .wrongCode(let attempt, let allowed, let from, let left):
      return line("wrongCode", ["attempt": attempt, "allowed": allowed, "from": from, "left": left])
    case .codesSpent(let count, let guessers, _):
      return line("codesSpent", ["count": count, "from": guessers.map { $0.members }])
    case .looking: return line("looking")
    case .found(let label, let address):
      return line("found", ["label": label, "address": address])
    case .connecting(let address):
      return line(
        "connecting", ["address": address, "advice": IfGiven(firewall?.advice(toSenderFor: address))])
    case .queued(let place):
      let known: UInt16? = place > 0 ? place : nil
      return line("queued", ["place": known])
    case .transfer(let identifier):
      transfer = identifier
      return Rendering()
    case .paired(let label, let address, let isKnown):
      transfer = nil
      return line("paired", ["label": label, "address": address, "known": isKnown])
    case .relayed(let relay, let bytes): return line("relayed", ["relay": relay, "bytes": bytes])
    case .dataConnection(.direct(let isIPv6)):
      return line("dataConnection", ["connection": "direct", "family": isIPv6 ? "IPv6" : "IPv4"])
    case .dataConnection(.relay(let relay)): return line("dataConnection", ["connection": "relay", "relay": relay])
    case .offer(let offer, let availableBytes, _):
      return line("offer", offer.members + ["availableBytes": availableBytes])
    case .plan(let parts, let availableBytes):
      return line("plan", ["parts": parts.map(\.members), "availableBytes": availableBytes])
    case .progress(let progress):
      meter.note(progress, at: moment.elapsed)
      return progressLine(at: moment)
    case .interrupted(let reason):
      meter.stop()
      return line("interrupted", ["reason": reason])
    case .resumed(let heldBytes):
      meter.stop()
      return line("resumed", ["heldBytes": heldBytes])
    case .notice(let message): return line("notice", ["message": message])
    case .staged: return line("staged")
    case .importing: return line("importing")
    case .notStored(let item, let note):
      return line("notStored", item.members(note))
    case .renamed(let path, let target):
      return line("renamed", ["path": FileName(path), "arrivedAs": FileName(target)])
    case .extensionOutput(let isError, let text):
      return line("extensionOutput", Self.members(isError: isError, line: text))
    case .done(let result):
      meter.stop()
      defer { transfer = nil }
      return line(
        "done",
        result.members + [
          "nextSteps": IfGiven(nextSteps?.map(\.sentence)), "steps": IfGiven(nextSteps?.map(\.members)),
          "newer": IfGiven(newer),
        ])
    case .partEnded(let end):
      return line("part", end.members)
    case .failed(let failure):
      meter.stop()
      defer { transfer = nil }
      return fail(failure)
    case .of(let transfer, let event):
      told = transfer
      defer { told = nil }
      return handle(event, at: moment)
    }
  }

  mutating func tick(at moment: Moment) -> Rendering {
    meter.note(at: moment.elapsed)
    return progressLine(at: moment)
  }

  mutating func clear() -> Rendering { Rendering() }

  mutating func advise(_ steps: [NextStep], leavingOut leftOut: [Omission]) {
    nextSteps = steps.isEmpty ? nil : steps
    let changed = leftOut.filter(\.isNewer).map { Self.path($0.path) }
    newer = changed.isEmpty ? nil : changed
  }

  func missed(_ count: UInt64) -> Rendering { line("missed", ["messages": count]) }

  mutating func fail(_ failure: Failure) -> Rendering {
    var rendering = line("error", failure.members)
    rendering.standardError = failure.text
    return rendering
  }

  private mutating func progressLine(at moment: Moment) -> Rendering {
    guard meter.isDue(at: moment.elapsed, every: Self.interval, unchanged: Self.longestSilence),
      let progress = meter.latest
    else { return Rendering() }
    return line(
      "progress",
      [
        "phase": progress.phase.rawValue, "bytes": progress.bytes, "totalBytes": progress.totalBytes,
        "items": progress.items, "totalItems": progress.totalItems,
        "bytesPerSecond": Figures.whole(meter.bytesPerSecond ?? 0),
        "secondsLeft": meter.secondsLeft.map { Figures.whole($0.rounded(.up)) },
        "phaseFraction": IfGiven(progress.phaseFraction),
      ])
  }

  private func line(_ event: String, _ members: JSONMembers = [:]) -> Rendering {
    .event(
      event,
      ["side": IfGiven(side?.rawValue)] + members + [
        "transfer": IfGiven(Self.general.contains(event) ? nil : (told ?? transfer)?.hexadecimal),
        "time": IfGiven(clock.map { CalendarTime.text($0()) }),
      ])
  }

  /// The events that are about the run, and about no transfer.
  private static let general: Set = [
    "listening", "announced", "unannounced", "code", "confined", "unconfined", "wrongCode", "codesSpent", "missed",
  ]

  private static func path(_ bytes: [UInt8]) -> JSONMembers { ["path": FileName(bytes)] }

  /// The JSON members of a line of an extension.
  static func members(isError: Bool, line: [UInt8]) -> JSONMembers {
    ["stream": isError ? "error" : "output", "line": FileName(line)]
  }
}

extension Offer {
  /// The JSON members of an offer.
  var members: JSONMembers {
    let contents: JSONMembers =
      switch contents {
      case .folders(let roots), .unknown(_, _, let roots, _): ["roots": roots.map(\.members)]
      case .role(let role, let roots): ["role": role, "roots": roots.map(\.members)]
      case .app(let app): ["app": app.members]
      case .files(let app, _):
        ["app": AppIdentity(bundleIdentifier: app, store: "", platform: AppSource.platform, version: "").members]
      }
    return contents + ["items": items, "bytes": bytes]
  }
}

extension Root {
  fileprivate var members: JSONMembers { ["name": FileName(name), "kind": "\(kind)"] }
}

extension AppIdentity {
  fileprivate var members: JSONMembers {
    ["bundleIdentifier": bundleIdentifier, "store": store, "platform": platform, "version": version]
  }
}

extension GuessLimit.Count {
  /// The JSON members of a source of wrong codes.
  var members: JSONMembers { ["address": network, "count": count] }
}

extension NotStored {
  /// The JSON members of an item that is not at the destination.
  func members(_ note: String? = nil) -> JSONMembers {
    ["path": FileName(path), "by": reason.party.rawValue, "reason": reason.name, "message": detail(note)]
  }
}

extension TransferResult {
  /// The JSON members of a finished transfer.
  var members: JSONMembers {
    [
      "items": total.items, "bytes": total.bytes, "sentBytes": sentBytes, "savedBytes": savedBytes,
      "heldBytes": heldBytes, "seconds": (seconds * 1000).rounded() / 1000, "unsent": unsent, "notStored": notStored,
      "losses": losses.map { ["kind": $0.kind.name, "count": $0.count] as JSONMembers },
      "present": leftOut.present, "differing": leftOut.differing, "renamed": renamed,
      "removed": removed.count, "removedUnsettled": removed.unsettled,
      "lostAttributes": lostAttributes.map { ["name": FileName($0.name), "count": $0.count] as JSONMembers },
      "failedParts": failedParts, "presentParts": presentParts,
      "concluded": IfGiven(concludedAt.map { CalendarTime.text($0) }),
    ]
  }
}

extension Part {
  /// The JSON members of a part of a plan, as its sender describes it.
  var members: JSONMembers {
    let contents: JSONMembers =
      switch contents {
      case .folders(let roots): ["kind": "folders", "roots": roots.map(\.members)]
      case .role(let role, let roots): ["kind": "folders", "role": role, "roots": roots.map(\.members)]
      case .app(let app): ["kind": "app", "app": app.members]
      case .files(let app, let roots): ["kind": "files", "identifier": app, "roots": roots.map(\.members)]
      case .unknown: ["kind": "unknown"]
      }
    return ["part": name] + contents + [
      "items": IfGiven(items), "bytes": IfGiven(bytes),
    ]
  }
}

extension PartEnd {
  /// The JSON members of the end of a part.
  fileprivate var members: JSONMembers {
    let about: JSONMembers = ["number": Int(number) + 1, "part": name, "root": IfGiven(root.map { FileName($0) })]
    switch result {
    case .success(let result):
      return about + [
        "state": result.presentParts > 0 ? "present" : result.concludedAt == nil ? "done" : "doneBefore",
        "items": result.total.items,
        "bytes": result.total.bytes, "sentBytes": result.sentBytes, "unsent": result.unsent,
        "notStored": result.notStored, "present": result.leftOut.present, "differing": result.leftOut.differing,
        "removed": result.removed.count,
      ]
    case .failure(let failure):
      return about + ["state": "failed", "declined": isDeclined, "mayResume": mayResume] + failure.members
    }
  }
}

extension Failure {
  /// The JSON members of a failure.
  var members: JSONMembers {
    [
      "code": ExitCode.of(self), "kind": kind.name, "cause": IfGiven(cause), "there": isTold, "message": message,
      "hint": hint,
      // About an entry and about space, if the failure concerns them.
      "name": IfGiven(name.map { FileName($0) }), "neededBytes": IfGiven(bytes?.needed),
      "availableBytes": IfGiven(bytes?.available), "neededItems": IfGiven(items?.needed),
      "availableItems": IfGiven(items?.available),
    ]
  }
}

extension Done.Loss.Kind {
  fileprivate var name: String {
    switch self {
    case .mode: "mode"
    case .time: "time"
    case .owner: "owner"
    case .attribute: "attribute"
    case .accessList: "accessList"
    case .hardLink: "hardLink"
    case .hole: "hole"
    case .setIDBit: "setIDBit"
    case .ownerName: "ownerName"
    default: "other"
    }
  }
}
