package import MigrationArchive
import MigrationDiscovery
package import MigrationEngine
package import MigrationSystem
package import MigrationWire

/// The sending device: walks its sources, pairs by the code or comes back to a transfer, and sends.
package final class Sender: Sendable {
  /// The options of a sender, made by the command's parser or by a program. The engine's options
  /// are its settings; the workers read the others.
  @dynamicMemberLookup
  package struct Options: Equatable, Sendable {
    /// Where the receiver is.
    package enum Target: Equatable, Sendable {
      /// The user's address for the device, and the device's label, where another source tells it.
      case host(HostAndPort, label: String? = nil)
      /// Somewhere in this network, or else at the relay, if a relay is known.
      case nearby
      /// At the relay.
      case relay
    }

    package var target: Target
    /// The relay at which the receiver may wait.
    package var relay: RelayAccess?
    /// How many bytes may be sent in a second; nil for no limit.
    package var limit: UInt64?
    /// A name that stands for all sources in every run; nil if each source has its own name.
    package var migration: [UInt8]?
    /// Which known devices need no code, and for how long a new pairing is kept.
    package var knownDevices = KnownDevices.kept
    /// How long nothing may move on a data stream before it is opened anew.
    var stallPatience = StallWatch.patience
    private var settings: SenderEngine.Settings

    /// Without a label, this device has its host name.
    package init(
      target: Target = .nearby, label: String? = nil, software: String = Version.software, streams: UInt32? = nil,
      limit: UInt64? = nil, compression: SenderEngine.CompressionPreference = .auto, giveUpAfter: Double = 600
    ) {
      self.target = target
      self.limit = limit
      settings = SenderEngine.Settings(
        greeting: Greeting(
          role: .sender, label: ThisDevice.label(label), software: software, features: .ofThisDevice),
        target: nil, streams: streams, giveUpAfter: giveUpAfter)
      settings.compression = compression
    }

    /// An option of the engine.
    package subscript<Value>(dynamicMember option: WritableKeyPath<SenderEngine.Settings, Value>) -> Value {
      get { settings[keyPath: option] }
      set { settings[keyPath: option] = newValue }
    }

    /// The engine's settings, complete.
    func settings(of sources: [any ItemSource]) -> SenderEngine.Settings {
      var settings = settings
      if settings.compression == .never { settings.greeting.features.remove(.zstd) }
      switch target {
      case .host(let host, _): settings.target = host.text
      case .relay: settings.target = relay?.shown
      case .nearby: settings.hasRelay = relay != nil
      }
      settings.expectsReceiver = knownDevices.areExpected
      settings.graceAtTheEnd = sources.map(\.graceAtTheEnd).max() ?? 0
      settings.canCompress = Features.ofThisDevice.contains(.zstd)
      return settings
    }
  }

  /// An error that prevents the sender from being made is reported when it begins.
  private let setup: Result<SenderSetup, Failure>

  /// - Parameters:
  ///   - search: finds receivers in this network, where the sender has to look for them.
  ///   - sources: one for each part of the plan.
  package init(
    _ options: Options, searching search: (any NearbySearch)? = nil, sources: [any ItemSource],
    store: TransferStore? = nil, observer: @escaping @Sendable (TransferEvent) -> Void
  ) {
    do throws(SystemError) {
      setup = .success(
        SenderSetup(
          options: options, search: search, sources: sources, store: store, observer: observer, queue: try EventQueue(),
          caller: try SenderCaller()))
    } catch {
      setup = .failure(Failure(error))
    }
  }

  /// Starts the loop, which walks the sources; meanwhile the code may be typed. Called once.
  package func prepare() throws(Failure) {
    let setup = try setup.get()
    do throws(SystemError) {
      try setup.workers.start("sender") {
        let engine = SenderEngine(setup.options.settings(of: setup.sources))
        let loop = EngineLoop(
          engine, SenderPerformer(setup), queue: setup.queue, workers: setup.workers, clock: LoopClock())
        let (result, running) = loop.run()
        setup.caller.finish(result, leaving: running)
      }
    } catch {
      throw Failure(error)
    }
  }

  /// Ends the transfer soon, from any thread.
  package func stop(_ kind: Failure.Kind) {
    if case .success(let setup) = setup { setup.post(.stop(kind)) }
  }

  /// The descriptor that becomes readable when the question for the code is withdrawn.
  package var endOfQuestion: [CInt] { (try? setup.get()).map { [$0.caller.unasked.raw] } ?? [] }

  /// Sends everything; blocks until the end. `choice` asks which of several receivers is meant.
  /// `code` asks for the code that a device shows, only when there is no transfer to resume and the
  /// device answered. Call `prepare` first.
  package func run(
    choosing choice: ([DeviceAddress]) throws(Failure) -> Int = { (_) throws(Failure) in 0 },
    _ code: (DeviceAddress) throws(Failure) -> TypedCode
  ) throws(Failure) -> TransferResult {
    let setup = try setup.get()
    while true {
      switch setup.caller.next() {
      case .askCode(let device):
        do throws(Failure) {
          let typed = try code(device)
          setup.queue.post(Report(.codeEntered(.success(typed.code)), bringing: .place(typed.place)))
        } catch {
          setup.post(.codeEntered(.failure(error)))
        }
      case .choose(let found):
        let chosen: Result<Int, Failure>
        do throws(Failure) { chosen = .success(try choice(found)) } catch { chosen = .failure(error) }
        setup.post(.chosen(chosen))
      case .end(let result, let stuck):
        // The engine has waited long enough for those; the others, and the loop, are about to
        // return.
        setup.workers.wait(until: .now().advanced(by: .seconds(EndLimits.unhurried)), leaving: stuck)
        setup.queue.close()
        return try result.get()
      }
    }
  }
}

/// Connects the loop with the thread that has called the sender, which asks the user and waits for
/// the end.
final class SenderCaller: Sendable {
  /// The next step of the caller's thread.
  enum Task {
    case askCode(DeviceAddress)
    case choose([DeviceAddress])
    /// The run has ended, and this number of workers still runs.
    case end(TransferOutcome, leaving: Int)
  }

  private struct State: Sendable {
    /// The question for the user.
    var question: Task?
    var end: Task?
  }

  /// Ends the wait for the user when the question is withdrawn.
  let unasked: Wakeup
  private let state = Condition(State())

  init() throws(SystemError) { unasked = try Wakeup() }

  /// Asks for the code that a device shows, or for one of several devices.
  func ask(_ question: Task) {
    state.withLock { $0.question = question }
    state.signal()
  }

  /// Withdraws the question.
  func stopAsking() { unasked.signal() }

  /// Reports the end of the run, and how many workers still run. The first result counts.
  func finish(_ result: TransferOutcome, leaving workers: Int) {
    state.withLock { $0.end = $0.end ?? .end(result, leaving: workers) }
    state.signal()
  }

  /// Waits for the next task.
  func next() -> Task {
    let task = state.wait { state -> Task? in
      if let end = state.end { return end }
      defer { state.question = nil }
      return state.question
    }
    guard let task else { preconditionFailure("a wait without a deadline gives something") }
    return task
  }
}
