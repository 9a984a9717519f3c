import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer
import Synchronization

/// What is said while an app's data is migrated on one device: to a person by one voice, to a program by both ends.
final class MigrationOutput: Sendable {
  private struct State: Sendable {
    /// The notices that were shown: one that both ends have is shown once.
    var notices: Set<String> = []
    /// When the import began, and when it was over, in seconds.
    var importing: (from: Double, to: Double?)?
  }

  private let json: Bool
  private let exporter: Output
  /// To a person this is the same one.
  private let importer: Output
  private let state = Mutex(State())

  init(json: Bool) {
    self.json = json
    guard json else {
      importer = Output(HumanReport(.receiver, on: .standardError, speaker: nil), to: .standard)
      exporter = importer
      return
    }
    let target = OutputTarget.standard.shared()
    exporter = Output(JSONReport(.exporter), to: target)
    importer = Output(JSONReport(.importer), to: target)
  }

  /// Takes note of something that happened at one end; returns at once.
  func handle(_ event: TransferEvent, of side: Side) {
    // It is of no use to anything outside of this process.
    if case .code = event { return }
    let now = BootInstant.now().seconds
    state.withLock { state in
      switch event {
      case .importing where side == .importer: state.importing = (now, nil)
      case .done where side == .importer: state.importing?.to = now
      default: break
      }
    }
    if json { return (side == .exporter ? exporter : importer).handle(event) }
    if let event = shown(event, of: side) { importer.handle(event) }
  }

  /// What a person is told of an event: what travels by the importing end, which knows all of it; of how the ends find each other,
  /// nothing.
  private func shown(_ event: TransferEvent, of side: Side) -> TransferEvent? {
    switch event {
    case .extensionOutput(let isError, let line):
      return .extensionOutput(isError: isError, line: Array("\(side.rawValue): ".utf8) + line)
    case .notice(let text): return state.withLock { $0.notices.insert(text).inserted } ? event : nil
    case .offer, .progress, .staged, .importing, .unsent, .notStored, .renamed, .resumed:
      return side == .importer ? event : nil
    case .listening, .announced, .unannounced, .confined, .unconfined, .code, .codeAwaited, .wrongCode, .codesSpent,
      .looking, .found, .connecting, .paired, .interrupted, .done, .failed:
      return nil
    }
  }

  /// The user wants the program to end.
  func hurry() {
    exporter.hurry()
    if json { importer.hurry() }
  }

  /// Says how it ended before there were two ends, and returns the program's exit code.
  func fail(_ failure: TransferFailure) -> Int32 {
    json ? Output(JSONReport(), to: .standard).fail(failure) : importer.fail(failure)
  }

  /// Says how both ends have ended, and where the app is now; returns the program's exit code.
  func finish(_ results: BothEnds.Results, _ identifier: String, in home: DestinationHome) -> Int32 {
    let failure = results.failure
    let code: Int32
    if json {
      let codes = [exporter.end(results.exporter), importer.end(results.importer)]
      code = failure.map { ExitCode.of($0) } ?? codes.max() ?? ExitCode.done
    } else if let failure {
      code = importer.fail(failure)
    } else {
      code = importer.end(results.importer)
    }
    let rendering = json ? line(identifier, home, failure) : text(identifier, home, failure)
    StandardStream.error.write(rendering.standardError)
    if StandardStream.output.write(rendering.standardOutput) || StandardStream.output.hasLostReader { return code }
    StandardStream.error.write(Answer.unwritten.text)
    return code == ExitCode.done ? ExitCode.of(Answer.unwritten) : code
  }

  /// How long the import took; nil if there was none to its end.
  private var importSeconds: Double? {
    state.withLock { $0.importing }.flatMap { importing in importing.to.map { $0 - importing.from } }
  }

  private func text(_ identifier: String, _ home: DestinationHome, _ failure: TransferFailure?) -> Rendering {
    let place = VisibleText.listed(home.path)
    guard failure == nil else {
      return Rendering(standardError: "peer: note: the app that got nothing is in \(place)\n")
    }
    let took = importSeconds.map { "The import took \(Figures.duration($0)).\n" } ?? ""
    return Rendering(
      standardOutput: "\(took)The app with the data is in \(place). To start it:\n"
        + "  PEER_HOME=\(place) peer app run \(identifier)\n")
  }

  private func line(_ identifier: String, _ home: DestinationHome, _ failure: TransferFailure?) -> Rendering {
    let seconds = importSeconds.map { JSONValue.number(($0 * 1000).rounded() / 1000) } ?? .null
    let object = JSONValue.object(
      [.init("event", .string("migrated")), .init("id", .string(identifier))]
        + JSONValue.Member.name("home", home.path) + [
          .init("importSeconds", failure == nil ? seconds : .null), .init("succeeded", .bool(failure == nil)),
        ])
    return Rendering(standardOutput: object.text + "\n")
  }
}

extension Output {
  /// Says how an end has ended. Returns the exit code that it would have by itself.
  fileprivate func end(_ result: Result<TransferResult, TransferFailure>) -> Int32 {
    switch result {
    case .success(let result): finish(result)
    case .failure(let failure): fail(failure)
    }
  }
}

extension OutputTarget {
  /// The same for several that write: each text is written whole before another one's begins.
  fileprivate func shared() -> OutputTarget {
    let locks = (output: Turn(), error: Turn())
    let lock = { @Sendable (stream: StandardStream) in stream == .output ? locks.output : locks.error }
    return OutputTarget(
      write: { [write] text, stream, took in lock(stream).mutex.withLock { _ in write(text, stream, took) } },
      // Where another one's reader has stopped, there is nothing to wait for.
      attempt: { [attempt] text, stream in _ = lock(stream).mutex.withLockIfAvailable { _ in attempt(text, stream) } })
  }
}

/// A lock that closures can hold.
private final class Turn: Sendable {
  let mutex = Mutex(())
}
