import MigrationEngine
import MigrationSystem

/// The listening socket and the accept queue behind it: accepts connections as fast as they arrive.
/// The loop's thread owns it.
struct ConnectionListener: ~Copyable {
  enum Arrival {
    case connection(ConnectionID, Remote)
    /// The connection stays in the kernel's queue for lack of descriptors; a connection of the
    /// accept queue may make room for it.
    case shortage
  }

  /// How many connections are accepted before the listener looks at the accept queue.
  private static let batch = 64
  /// How long nothing is accepted after an error of the kernel.
  private static let pause = Duration.milliseconds(100)

  private var acceptQueue = AcceptQueue()
  private let listening: ListeningSocket
  private var names: RemoteNames
  private var pausedUntil: BootInstant?
  private var lastNumber: UInt64 = 0
  /// The connections that this device has made and that have sent nothing; the oldest makes room.
  private var silent: [(id: ConnectionID, remote: Remote)] = []
  static let mostSilent = 16
  /// How many more connections this batch accepts.
  private var left = 0
  /// Whether the kernel may have more connections than the last batch.
  private var mayHaveMore = false
  /// The connections of the accept queue that the poll waits for, and the position of their
  /// descriptors.
  private var awaited: (first: Int, ids: [ConnectionID]) = (0, [])

  /// `ranges` are the addresses that may pair; all addresses, if there is no range.
  init(_ listening: consuming ListeningSocket, mayPair ranges: [AddressRange]) {
    self.listening = listening
    names = RemoteNames(mayPair: ranges)
  }

  var address: SocketAddress { listening.address }

  /// The moment at which to accept again without an event.
  var nextMoment: BootInstant? { mayHaveMore ? .now() : pausedUntil }

  /// The descriptors that the poll waits for: the listening socket, unless it rests, and the
  /// connections of the accept queue.
  mutating func interests() -> [Poller.Interest] {
    let arrivals = pausedUntil == nil ? [Poller.Interest(listening.raw, .readable)] : []
    let incomplete = acceptQueue.incomplete
    awaited = (arrivals.count, incomplete.map(\.id))
    return arrivals + incomplete.map { Poller.Interest($0.raw, .readable) }
  }

  /// The connections of the accept queue that have sent more, as a poll with these interests found.
  func speaking(_ interests: ArraySlice<Poller.Interest>) -> [ConnectionID] {
    zip(awaited.ids, interests.dropFirst(awaited.first)).filter { !$0.1.ready.isEmpty }.map(\.0)
  }

  mutating func beginBatch() {
    left = Self.batch
    mayHaveMore = false
  }

  /// Takes the next connection of the batch into the accept queue.
  mutating func accept() -> Arrival? {
    if let end = pausedUntil, .now() < end { return nil }
    pausedUntil = nil
    guard left > 0 else {
      mayHaveMore = true
      return nil
    }
    left -= 1
    do throws(SystemError) {
      guard let socket = try listening.accept() else { return nil }
      lastNumber += 1
      let (id, address) = (ConnectionID(lastNumber), socket.remoteAddress)
      acceptQueue.add(id, socket)
      return .connection(id, names.remote(at: address))
    } catch {
      if error.isDescriptorShortage { return .shortage }
      rest(until: BootInstant.now().advanced(by: Self.pause))
      return nil
    }
  }

  /// Takes a connection that a relay has joined into the accept queue. The relay states where the
  /// other end is.
  mutating func add(
    _ socket: consuming StreamSocket, at caller: SocketAddress, through relay: RelayAccess, _ own: OwnAddresses?
  ) -> (ConnectionID, Remote) {
    (add(socket), names.remote(at: caller, through: relay, own))
  }

  /// Takes a connection that this device has made into the accept queue. The device at its other
  /// end has not come by itself, and so neither pairs nor wants a turn, and takes no visitor's
  /// place before it speaks.
  mutating func add(reached socket: consuming StreamSocket) {
    let remote = names.remote(at: socket.remoteAddress, hasCome: false)
    if silent.count >= Self.mostSilent { remove(silent.removeFirst().id) }
    silent.append((add(socket), remote))
  }

  /// A connection that this device has made has spoken, or ended: its other end; nil for a visitor.
  mutating func takeReached(_ id: ConnectionID) -> Remote? {
    silent.firstIndex { $0.id == id }.map { silent.remove(at: $0).remote }
  }

  private mutating func add(_ socket: consuming StreamSocket) -> ConnectionID {
    lastNumber += 1
    acceptQueue.add(ConnectionID(lastNumber), socket)
    return ConnectionID(lastNumber)
  }

  /// Accepts nothing until a moment.
  mutating func rest(until moment: BootInstant) { pausedUntil = moment }

  /// Looks how much of a connection's first record has arrived; nil if it is not in the accept
  /// queue.
  mutating func look(at id: ConnectionID) -> AcceptQueue.Look? {
    acceptQueue.contains(id) ? acceptQueue.look(at: id) : nil
  }

  /// Removes a connection from the accept queue.
  @discardableResult
  mutating func remove(_ id: ConnectionID) -> Handover<StreamSocket>? { acceptQueue.remove(id) }
}
