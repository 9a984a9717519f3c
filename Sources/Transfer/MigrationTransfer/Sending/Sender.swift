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

  private let setup: SenderSetup

  /// - Parameters:
  ///   - search: finds receivers in this network, where the sender has to look for them.
  ///   - sources: one for each part of the plan.
  ///   - choice: asks which of several receivers is meant.
  ///   - code: asks for the code that a device shows, only when there is no transfer to resume and the
  ///     device answered.
  package init(
    _ options: Options, searching search: (any NearbySearch)? = nil, sources: [any ItemSource],
    store: TransferStore? = nil, observer: @escaping @Sendable (TransferEvent) -> Void,
    choosing choice: @escaping ReceiverAsker = { (_, _) throws(Failure) in 0 }, code: @escaping CodeAsker
  ) throws(Failure) {
    setup = SenderSetup(
      options: options, search: search, sources: sources, store: store, observer: observer, choice: choice, code: code,
      queue: try SystemError.mapped(EventQueue()) { Failure($0) })
  }

  /// Ends the transfer soon, from any thread.
  package func stop(_ kind: Failure.Kind) { setup.post(.stop(kind)) }

  /// Sends everything. Blocks until the end. The sources are walked while the code is typed.
  package func run() throws(Failure) -> TransferResult {
    let (result, running) = try onLoopThread("sender") { [setup] () -> (TransferOutcome, Int) in
      do throws(SystemError) {
        let performer = try SenderPerformer(setup)
        let engine = SenderEngine(setup.options.settings(of: setup.sources))
        return EngineLoop(engine, performer, queue: setup.queue, workers: setup.workers, clock: LoopClock()).run()
      } catch {
        return (.failure(Failure(error)), 0)
      }
    }
    // The engine has waited long enough for those that still run; the others are about to return.
    setup.workers.wait(until: .now().advanced(by: .seconds(EndLimits.unhurried)), leaving: running)
    setup.queue.close()
    return try result.get()
  }
}

/// Asks the user which of several receivers is meant, on a thread that may wait; returns its position.
///
/// The answer is not needed any more when the descriptor becomes readable.
package typealias ReceiverAsker = @Sendable (_ found: [DeviceAddress], _ until: CInt) throws(Failure) -> Int

/// Asks the user for the code that a device shows, in the same way.
package typealias CodeAsker = @Sendable (_ device: DeviceAddress, _ until: CInt) throws(Failure) -> TypedCode
