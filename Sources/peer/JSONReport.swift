import MigrationEngine
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

  private var meter = ProgressMeter()
  /// The end that reports, if one program is both ends.
  private let side: Side?

  init(_ side: Side? = nil) { self.side = side }

  mutating func handle(_ event: TransferEvent, at moment: Moment) -> Rendering {
    switch event {
    case .listening(let listening):
      return line(
        "listening",
        [
          .init("addresses", .array(listening.addresses.map(JSONValue.string))),
          .init("port", .integer(UInt64(listening.port))),
          .init("from", .array(listening.from.map(JSONValue.string))),
        ])
    case .announced(let name): return line("announced", [.init("name", .string(name))])
    case .unannounced(let reason): return line("unannounced", [.init("reason", .string(reason))])
    case .code(let code, let lifetime):
      let expires = CalendarTime.text(moment.wall + Int64(Figures.whole(lifetime)))
      return line("code", [.init("code", .string(code.shown)), .init("expires", .string(expires))])
    case .codeAwaited(let lifetime):
      let expires = CalendarTime.text(moment.wall + Int64(Figures.whole(lifetime)))
      return line("code", [.init("code", .null), .init("expires", .string(expires))])
    case .confined(let directories):
      return line(
        "confined",
        [.init("directories", .array(directories.map { .object(JSONValue.Member.name("path", $0)) }))])
    case .unconfined(let reason, let directories):
      return line(
        "unconfined",
        [
          .init("message", .string(reason)),
          .init("directories", .array(directories.map { .object(JSONValue.Member.name("path", $0)) })),
        ])
    case .wrongCode(let attempt, let allowed, let from, let left):
      return line(
        "wrongCode",
        [
          .init("attempt", .integer(UInt64(attempt))), .init("allowed", .integer(UInt64(allowed))),
          .init("from", .string(from)), .init("left", .integer(UInt64(left))),
        ])
    case .codesSpent(let count, let guessers, _):
      return line(
        "codesSpent",
        [.init("count", .integer(UInt64(count))), .init("from", .array(guessers.map { .object($0.members) }))])
    case .looking: return line("looking")
    case .found(let label, let address):
      return line("found", [.init("label", .string(label)), .init("address", .string(address))])
    case .connecting(let address):
      return line("connecting", [.init("address", .string(address))])
    case .paired(let label, let address):
      return line("paired", [.init("label", .string(label)), .init("address", .string(address))])
    case .offer(let offer, let availableBytes):
      return line("offer", offer.members + [.init("availableBytes", availableBytes.map(JSONValue.integer) ?? .null)])
    case .progress(let progress):
      meter.note(progress, at: moment.elapsed)
      return progressLine(at: moment)
    case .interrupted(let reason):
      meter.stop()
      return line("interrupted", [.init("reason", .string(reason))])
    case .resumed(let heldBytes):
      meter.stop()
      return line("resumed", [.init("heldBytes", .integer(heldBytes))])
    case .notice(let message): return line("notice", [.init("message", .string(message))])
    case .staged: return line("staged")
    case .importing: return line("importing")
    case .unsent(let item):
      return line("unsent", item.members)
    case .notStored(let path, let reason, let message):
      return line(
        "notStored",
        JSONValue.Member.name("path", path) + [
          .init("reason", .string(reason.name)), .init("message", message.map(JSONValue.string) ?? .null),
        ])
    case .renamed(let path, let target):
      return line("renamed", JSONValue.Member.name("path", path) + JSONValue.Member.name("arrivedAs", target))
    case .extensionOutput(let isError, let text):
      return line("extensionOutput", Self.members(isError: isError, line: text))
    case .done(let result):
      meter.stop()
      return line("done", result.members)
    case .failed(let failure):
      meter.stop()
      return fail(failure)
    }
  }

  mutating func tick(at moment: Moment) -> Rendering {
    meter.note(at: moment.elapsed)
    return progressLine(at: moment)
  }

  mutating func clear() -> Rendering { Rendering() }

  func missed(_ count: UInt64) -> Rendering { line("missed", [.init("messages", .integer(count))]) }

  mutating func fail(_ failure: TransferFailure) -> Rendering {
    var rendering = line(
      "error",
      [
        .init("code", .integer(UInt64(ExitCode.of(failure)))), .init("kind", .string(failure.kind.name)),
        .init("message", .string(failure.message)), .init("hint", failure.hint.map(JSONValue.string) ?? .null),
      ] + failure.subject.members)
    rendering.standardError = failure.text
    return rendering
  }

  private mutating func progressLine(at moment: Moment) -> Rendering {
    guard meter.isDue(at: moment.elapsed, every: Self.interval), let progress = meter.latest else { return Rendering() }
    return line(
      "progress",
      [
        .init("phase", .string(progress.phase.rawValue)), .init("bytes", .integer(progress.bytes)),
        .init("totalBytes", progress.totalBytes.map(JSONValue.integer) ?? .null),
        .init("items", .integer(progress.items)),
        .init("totalItems", .integer(progress.totalItems)),
        .init("bytesPerSecond", .integer(Figures.whole(meter.bytesPerSecond ?? 0))),
        .init("secondsLeft", meter.secondsLeft.map { .integer(Figures.whole($0.rounded(.up))) } ?? .null),
      ] + (progress.phaseFraction.map { [.init("phaseFraction", .number($0))] } ?? []))
  }

  private func line(_ event: String, _ members: [JSONValue.Member] = []) -> Rendering {
    let side = side.map { [JSONValue.Member("side", .string($0.rawValue))] } ?? []
    return Rendering(standardOutput: JSONValue.object([.init("event", .string(event))] + side + members).text + "\n")
  }

  /// The JSON members of a line of an extension.
  static func members(isError: Bool, line: [UInt8]) -> [JSONValue.Member] {
    [.init("stream", .string(isError ? "error" : "output"))] + JSONValue.Member.name("line", line)
  }
}

extension JSONValue.Member {
  /// A name from a file system: the text under `key`, and also the exact bytes if they are not
  /// valid text.
  static func name(_ key: String, _ bytes: [UInt8]) -> [JSONValue.Member] {
    if let text = String(validating: bytes, as: UTF8.self) { return [.init(key, .string(text))] }
    return [.init(key, .string(VisibleText.of(bytes))), .init(key + "Base64", .string(Base64.text(of: bytes)))]
  }
}
