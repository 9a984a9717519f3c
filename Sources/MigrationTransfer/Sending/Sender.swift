package import MigrationArchive
package import MigrationEngine
package import MigrationSystem
package import MigrationWire

/// The sending device: walks its sources, pairs by the code or comes back to a transfer, and sends.
package final class Sender: Sendable {
  package struct Options: Sendable {
    /// Where the receiver is.
    package enum Target: Sendable {
      /// The user's address for the device, and the device's label, where another source tells it.
      case host(HostAndPort, label: String? = nil)
      /// Somewhere in this network.
      case nearby
    }

    package let target: Target
    /// Finds receivers in this network, where the sender has to look for them.
    package var search: (any NearbySearch)?
    /// This device's label.
    package let label: String
    package let software: String
    /// How many data streams carry the archive; nil for as many as help.
    package let streams: UInt32?
    /// How many bytes may be sent in a second; nil for no limit.
    package let limit: UInt64?
    /// Whether the sender may compress.
    package let compression: CompressionPreference
    /// For how many seconds a lost connection is tried again.
    package let giveUpAfter: Double
    /// How long nothing may move on a data stream before it is opened anew.
    var stallPatience = StallWatch.patience

    package init(
      target: Target, search: (any NearbySearch)? = nil, label: String, software: String, streams: UInt32? = nil,
      limit: UInt64? = nil,
      compression: CompressionPreference = .auto,
      giveUpAfter: Double = 600
    ) {
      self.target = target
      self.search = search
      self.label = label
      self.software = software
      self.streams = streams
      self.compression = compression
      self.limit = limit
      self.giveUpAfter = giveUpAfter
    }
  }

  /// An error that prevents the sender from being made is reported when it begins.
  private let context: Result<SenderLoop.Context, TransferFailure>

  package init(
    _ options: Options, source: any ItemSource, store: TransferStore? = nil,
    observer: @escaping @Sendable (TransferEvent) -> Void
  ) {
    do throws(SystemError) {
      context = .success(
        SenderLoop.Context(
          options: options, source: source, store: store, observe: observer, events: try EventQueue(),
          workers: Workers(), caller: try SenderCaller()))
    } catch {
      context = .failure(TransferFailure(.failed, error.description))
    }
  }

  /// Starts the loop, which walks the sources; meanwhile the code may be typed. Called once.
  package func prepare() throws(TransferFailure) {
    let context = try context.get()
    do throws(SystemError) {
      try context.workers.start("sender") { SenderLoop(context).run() }
    } catch {
      throw TransferFailure(.failed, error.description)
    }
  }

  /// Ends the transfer soon, from any thread.
  package func stop(_ kind: TransferFailure.Kind) {
    guard case .success(let context) = context else { return }
    context.events.post(.event(.stop(kind)))
  }

  /// The descriptor that becomes readable when the code is not wanted any more.
  package var endOfQuestion: [CInt] { (try? context.get()).map { [$0.caller.unasked.raw] } ?? [] }

  /// Sends everything; blocks until the end. `choice` asks which of several receivers is meant.
  /// `code` asks for the code that a device shows, only when there is no transfer to resume and the
  /// device answered. Call `prepare` first.
  package func run(
    choosing choice: ([Nearby]) throws(TransferFailure) -> Int = { (_) throws(TransferFailure) in 0 },
    _ code: (DeviceAddress) throws(TransferFailure) -> PairingCode
  ) throws(TransferFailure) -> TransferResult {
    let context = try context.get()
    while true {
      switch context.caller.next() {
      case .askCode(let device):
        let entered: Result<PairingCode, TransferFailure>
        do throws(TransferFailure) { entered = .success(try code(device)) } catch { entered = .failure(error) }
        context.events.post(.event(.codeEntered(entered)))
      case .choose(let found):
        let chosen: Result<Int, TransferFailure>
        do throws(TransferFailure) { chosen = .success(try choice(found)) } catch { chosen = .failure(error) }
        context.events.post(.event(.chosen(chosen)))
      case .end(let result, let stuck):
        // The engine has waited long enough for those; the others, and the loop, are about to
        // return.
        context.workers.wait(until: .now().advanced(by: .seconds(Curfew.atLeisure)), leaving: stuck)
        context.events.close()
        return try result.get()
      }
    }
  }
}

extension Sender.Options.Target {
  /// The device that the user has named; nil where that is no device.
  fileprivate var text: String? { if case .host(let host, _) = self { host.text } else { nil } }
}

extension Sender.Options {
  /// The facts from which the engine starts.
  func settings(of source: any ItemSource) -> SenderEngine.Settings {
    let features: Features = [.leavingOut, .ofThisDevice]
    var settings = SenderEngine.Settings(
      greeting: Greeting(
        role: .sender, label: label, software: software,
        features: compression == .never ? features.subtracting(.zstd) : features),
      target: target.text, streams: streams, giveUpAfter: giveUpAfter)
    settings.graceAtTheEnd = source.graceAtTheEnd
    settings.wantsCompression = compression == .always
    settings.canCompress = Features.ofThisDevice.contains(.zstd)
    return settings
  }
}
