package import MigrationArchive
import MigrationDiscovery
package import MigrationEngine
import MigrationSystem
package import MigrationTransfer
package import MigrationWire

/// Sends files and folders to a waiting device, once.
///
/// ``send(choosing:code:)`` does the work, and ``events`` report its course. Cancelling the task
/// that waits for it ends the transfer as Ctrl-C ends `peer send`: the other device keeps the
/// received data.
public final class PeerSender: Sendable {
  /// The place of the other device.
  public enum Target: Hashable, Sendable {
    /// A device that announces itself on one of this device's networks; the program chooses one of
    /// several.
    case nearby
    /// An address or a host name; the default port is 47470.
    case host(String, port: UInt16 = 47470)
    /// A device that ``PeerSender/nearbyDevices(lookingFor:)`` has found.
    case device(PeerDevice)
  }

  /// When data is compressed in transit.
  public enum Compression: String, Hashable, Sendable {
    /// When it makes the transfer faster, and until that is known.
    case auto
    /// All data that becomes smaller.
    case always
    case never
  }

  /// The options of a transfer.
  public struct Options: Sendable {
    /// The name of this device on the other device; nil for the host name.
    public var label: String?
    /// The patterns of excluded items, by the rules of `.gitignore` files; the last matching
    /// pattern decides.
    public var exclusions: [String] = []
    /// Whether only the `CACHEDIR.TAG` of a directory with such a file is sent.
    public var excludesCaches = false
    /// Whether owners and groups are sent, with their names and numbers.
    public var sendsOwners = false
    public var compression = Compression.auto
    /// The most bytes per second on the network; nil for no limit.
    public var bytesPerSecond: UInt64?
    /// The number of connections for the data, 1 to 64; nil for the best number.
    public var streams: Int?
    /// Whether to wait for a receiver that serves others first, however long that takes; otherwise
    /// the transfer fails with ``PeerError/Kind/busy``.
    public var waitsInLine = true
    /// How long to try to reconnect.
    public var givesUpAfter = Duration.seconds(600)
    /// The directory that remembers an unfinished transfer, so that another run with the same paths
    /// resumes it without a code; nil to remember it only during this run. Only this user may have
    /// access to the directory.
    public var memory: PeerPath?

    public init() {}
  }

  /// The events, to the end of the transfer.
  public var events: PeerEvents { PeerEvents(events: running.buffer.events) }

  private let paths: [PeerPath]
  private let target: Target
  private let options: Options
  private let running = TransferThread()

  /// Sends the files and folders at these paths; each arrives under its last name.
  public init(_ paths: [PeerPath], to target: Target = .nearby, options: Options = Options()) {
    self.paths = paths
    self.target = target
    self.options = options
  }

  /// Sends everything, and returns when the other device has stored it.
  ///
  /// - Parameters:
  ///   - choose: chooses one of several devices; nil for none. Called only for ``Target/nearby``.
  ///   - code: returns the code that a device shows, once the device is connected; nil if there is
  ///     none. Not called if an unfinished transfer resumes.
  ///
  /// Both run in their own tasks. When an answer is no longer wanted, its task is cancelled,
  /// without a wait for its end.
  /// - Throws: the failure; ``PeerError/Kind/interrupted`` when the task was cancelled.
  @discardableResult
  public func send(
    choosing choose: @escaping @Sendable ([PeerDevice]) async -> PeerDevice? = { _ in nil },
    code: @escaping @Sendable (PeerDevice) async -> PeerCode?
  ) async throws(PeerError) -> PeerResult {
    let priority = Task.currentPriority
    return try await running.perform("send") { [self] (running) throws(Failure) in
      guard !paths.isEmpty else { throw Failure(.usage, "no path to send", hint: "Name a path.") }
      let store = try options.memory.map { path throws(Failure) in try path.memory() }
      var selection = options.selection
      if let memory = options.memory { selection.leaveOut(recordsIn: memory.bytes, of: paths.map(\.bytes)) }
      for warning in selection.warnings { running.buffer.add(.notice(warning)) }
      var transfer = try options.transfer
      let (place, search) = try target.route
      transfer.target = place
      let source = try FolderSource(
        paths: paths.map(\.bytes), selecting: selection, withOwners: options.sendsOwners
      ) { [buffer = running.buffer] in buffer.add(.notice($0)) }
      return try Self.send([source], transfer, searching: search, memory: store) { [buffer = running.buffer] in
        buffer.add($0)
      } stopping: { stop in
        running.stopping { stop(.interrupted) }
      } choosing: { (found, end) throws(Failure) in
        try Self.choice(among: found, choose, until: end, at: priority)
      } code: { (device, end) throws(Failure) in
        TypedCode(code: try Self.code(of: device, code, until: end, at: priority))
      }
    }
  }

  /// Sends from any sources, one for each part, for any program, and blocks until the end.
  ///
  /// - Parameters:
  ///   - stopping: gets the function that ends the transfer, before it begins.
  ///   - choose: chooses one of several devices.
  package static func send(
    _ sources: [any ItemSource], _ options: Sender.Options, searching search: any NearbySearch = NetworkSearch(),
    memory: TransferStore?, telling tell: @escaping @Sendable (TransferEvent) -> Void,
    stopping: (@escaping @Sendable (Failure.Kind) -> Void) -> Void,
    choosing choose: @escaping ReceiverAsker, code: @escaping CodeAsker
  ) throws(Failure) -> TransferResult {
    let sender = try Sender(
      options, searching: search, sources: sources, store: memory, observer: tell, choosing: choose, code: code)
    // First, so that a run that is to end already learns it before a receiver answers.
    stopping { sender.stop($0) }
    return try sender.run()
  }

  /// Searches this device's networks for devices that wait for a transfer.
  ///
  /// Their names and addresses are claims; only the code proves a device.
  public static func nearbyDevices(
    lookingFor time: Duration = .seconds(3)
  ) async throws(PeerError) -> [PeerDevice] {
    let stop = StopSignal()
    let found = await withTaskCancellationHandler {
      await blocking("search") { () throws(Failure) in
        try NetworkSearch().look(for: time.seconds, unless: stop)
      }
    } onCancel: {
      stop.set()
    }
    if stop.isSet { throw PeerError(.interrupted, "interrupted") }
    return try found.mapError { PeerError($0) }.get().compactMap { PeerDevice($0) }
  }
}
