import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// One of the two ends of a migration on one device.
enum Side: String, Sendable {
  case exporter
  case importer
}

/// Both ends of a transfer in this process, joined by the loopback; the code is passed in memory.
final class BothEnds: Sendable {
  /// The address on which the importing end listens.
  static let host = "127.0.0.1"

  /// The results of both ends.
  struct Results: Sendable {
    var exporter: TransferOutcome
    var importer: TransferOutcome

    /// The failure that caused the other one, if any; nil if both ends succeeded.
    var failure: Failure? {
      guard case .failure(let ours) = exporter else { return importer.failure }
      guard case .failure(let theirs) = importer else { return ours }
      // For these failures, the destination knows the cause better.
      if [.importFailed, .noSpace, .refused].contains(theirs.kind) || theirs.code == .importCancelled { return theirs }
      return ours.kind == .connectionLost ? theirs : ours
    }
  }

  private struct State: Sendable {
    var port: UInt16?
    var code: PairingCode?
    var stop: Failure.Kind?
    var stopSender: (@Sendable (Failure.Kind) -> Void)?
    var importer: TransferOutcome?
  }

  private let state = Condition(State())
  private let receiver: Receiver
  private let tell: @Sendable (TransferEvent, Side) -> Void

  /// Creates the importing end.
  init(
    _ options: Receiver.Options, importer: any Importer, store: TransferStore,
    telling tell: @escaping @Sendable (TransferEvent, Side) -> Void
  ) throws(Failure) {
    self.tell = tell
    let state = state
    receiver = try Receiver(options, importers: importer, store: store) { event in
      switch event {
      case .listening(let listening): state.withLock { $0.port = listening.port }
      case .code(let code, _, _): state.withLock { $0.code = code }
      default: break
      }
      state.broadcast()
      tell(event, .importer)
    }
  }

  /// Ends both soon; may be called from any thread.
  func stop(_ kind: Failure.Kind) {
    let stopSender = state.withLock { state in
      state.stop = kind
      return state.stopSender
    }
    state.broadcast()
    receiver.stop(kind)
    stopSender?(kind)
  }

  /// Transfers everything, and returns when both ends have ended.
  ///
  /// - Parameter options: the options of the exporting end; the target is always the other end.
  func run(_ options: Sender.Options, source: any ItemSource, store: TransferStore) throws(Failure) -> Results {
    let thread: OwnerThread
    do throws(SystemError) {
      thread = try OwnerThread(name: "importer") { [self] in
        let result: TransferOutcome
        do throws(Failure) { result = .success(try receiver.run()) } catch { result = .failure(error) }
        state.withLock { $0.importer = result }
        state.broadcast()
      }
    } catch {
      throw Failure(error)
    }
    let exporter: TransferOutcome
    do throws(Failure) {
      exporter = .success(try send(options, source: source, store: store))
    } catch {
      exporter = .failure(error)
      // If the ends have met, the importing end ends by itself or waits for a reconnect.
      if state.withLock({ $0.importer == nil }) {
        receiver.stop(error.kind == .terminated ? .terminated : .interrupted)
      }
    }
    thread.join()
    let importer = state.withLock { $0.importer } ?? .failure(Failure(.failed, "the importing end is gone"))
    return Results(exporter: exporter, importer: importer)
  }

  private func send(
    _ options: Sender.Options, source: any ItemSource, store: TransferStore
  ) throws(Failure) -> TransferResult {
    var options = options
    options.target = .host(HostAndPort(host: Self.host, port: try awaited { $0.port }))
    // This releases the source.
    defer { state.withLock { $0.stopSender = nil } }
    return try PeerSender.send([source], options, memory: store) { [tell] in
      tell($0, .exporter)
    } stopping: { stopSender in
      let stop = state.withLock { state in
        state.stopSender = stopSender
        return state.stop
      }
      if let stop { stopSender(stop) }
    } choosing: { (_, _) throws(Failure) in
      0
    } code: { [self] (_, _) throws(Failure) in
      TypedCode(code: try awaited { $0.code })
    }
  }

  /// Waits for a value from the importing end; fails if that end ends first, or after a stop.
  private func awaited<Value: Sendable>(_ value: (State) -> Value?) throws(Failure) -> Value {
    let found = state.wait { state -> Result<Value, Failure>? in
      if let kind = state.stop { return .failure(.interrupted(by: kind)) }
      if let value = value(state) { return .success(value) }
      return state.importer.map { .failure($0.failure ?? Failure(.failed, "the importing end has ended")) }
    }
    guard let found else { preconditionFailure("this wait cannot time out") }
    return try found.get()
  }
}
