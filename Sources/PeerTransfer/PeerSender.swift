import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Sends files and folders to a device that waits for them: once.
///
/// ``send(choosing:code:)`` does it, and ``events`` tell what happens meanwhile. Cancelling the task that waits for it ends the
/// transfer as Ctrl-C ends `peer send`: the other device keeps what has arrived.
public final class PeerSender: Sendable {
  /// Where the other device is.
  public enum Target: Hashable, Sendable {
    /// On one of the networks of this one, announcing itself; several are a choice.
    case nearby
    /// At an address or a host name; the port is 47470 if nothing is said.
    case host(String, port: UInt16 = 47470)
    /// One that ``PeerSender/nearbyDevices(lookingFor:)`` has found.
    case device(PeerDevice)
  }

  /// Whether data is compressed on its way.
  public enum Compression: String, Hashable, Sendable {
    /// Where that makes the transfer faster, and until it is known whether it does.
    case auto
    /// Whatever becomes smaller.
    case always
    case never
  }

  /// What can be said of a transfer.
  public struct Options: Sendable {
    /// What the other device calls this one; nil for the host name.
    public var label: String?
    /// What is left out, by the rules of `.gitignore` files; the last pattern that matches decides.
    public var exclusions: [String] = []
    /// Whether of a directory with a `CACHEDIR.TAG` that alone is sent.
    public var excludesCaches = false
    /// Whether the numbers of owners and groups are sent.
    public var sendsOwners = false
    public var compression = Compression.auto
    /// How many bytes go over the network in a second at most; nil for as many as go.
    public var bytesPerSecond: UInt64?
    /// How many connections carry the data, 1 to 64; nil for as many as help.
    public var streams: Int?
    /// How long a lost connection is tried again.
    public var givesUpAfter = Duration.seconds(600)
    /// The directory in which an unfinished transfer is remembered, so that another run with the same paths goes on with it,
    /// without a code; nil for not beyond this run. It must be this user's alone.
    public var memory: PeerPath?

    public init() {}
  }

  /// What happens, to the end of the transfer.
  public var events: PeerEvents { PeerEvents(buffer: running.buffer) }

  let paths: [PeerPath]
  let target: Target
  let options: Options
  let running = Running()

  /// Sends what these paths lead to; each arrives under its last name.
  public init(_ paths: [PeerPath], to target: Target = .nearby, options: Options = Options()) {
    self.paths = paths
    self.target = target
    self.options = options
  }

  /// Sends everything, and returns when the other device has it.
  ///
  /// - Parameters:
  ///   - choose: asked which of several devices is meant; nil for none. Called only for ``Target/nearby``.
  ///   - code: asked for the code that a device shows, once it was reached; nil where there is none to be had. Not asked where an
  ///     unfinished transfer goes on.
  ///
  /// Both are asked in tasks of their own. When an answer is not wanted any more, its task is cancelled, and not waited for.
  /// - Throws: the failure; ``PeerError/Kind/interrupted`` when the task was cancelled.
  @discardableResult
  public func send(
    choosing choose: @escaping @Sendable ([PeerDevice]) async -> PeerDevice? = { _ in nil },
    code: @escaping @Sendable (PeerDevice) async -> PeerCode?
  ) async throws(PeerError) -> PeerResult {
    let priority = Task.currentPriority
    return try await running.perform("send") { [self] (running) throws(TransferFailure) in
      let sender = try sender()
      try sender.prepare()
      running.stopping { sender.stop(.interrupted) }
      let ends = sender.endOfQuestion
      return try sender.run(
        choosing: { (found) throws(TransferFailure) in try Self.choice(among: found, choose, unless: ends, at: priority)
        },
        { (device) throws(TransferFailure) in try Self.code(of: device, code, unless: ends, at: priority) })
    }
  }

  /// Looks for devices on the networks of this one that wait for a transfer.
  ///
  /// What they say of themselves proves nothing; the code does.
  public static func nearbyDevices(
    lookingFor time: Duration = .seconds(3)
  ) async throws(PeerError) -> [PeerDevice] {
    let stop = StopSignal()
    let found = await withTaskCancellationHandler {
      await blocking("search") { () throws(TransferFailure) in
        do throws(Fault) {
          return try NetworkSearch().look(for: time.seconds, unless: stop)
        } catch {
          throw error.failure
        }
      }
    } onCancel: {
      stop.set()
    }
    if stop.isSet { throw PeerError(.interrupted, "interrupted") }
    return try found.mapError { PeerError($0) }.get().compactMap { PeerDevice($0) }
  }
}
