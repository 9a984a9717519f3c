import MigrationEngine
import MigrationSystem
import MigrationWire

/// Runs an `AddressRace` with TCP connections. Returns the first connection that is made and closes
/// the others, or returns all of them one after the other.
struct Race: Sendable {
  /// The reason why no connection was made.
  enum End: Error, Sendable {
    case stopped
    /// No address answered: the address with the most informative failure, and the kernel's reason.
    case lost(SocketAddress, AddressRace.Obstacle, SystemError)
    /// A call of this device has failed.
    case broken(SystemError)
    /// A relay was reached that this device cannot use.
    case unfit(Failure)
  }

  /// The addresses in the order of the attempts; at least one.
  let addresses: [SocketAddress]
  /// Whether it is a round of addresses that the other end has named. A round does not dial this
  /// device's own addresses, which keep their times.
  var isRound = false
  var hasSmallSegments = false
  /// The port of this end.
  var port = StreamSocket.LocalPort.any
  /// The length of the race in seconds.
  let patience: Double
  let wakeup: Wakeup
  /// Whether a wakeup means that this device gives up.
  let isStopped: @Sendable () -> Bool

  /// Connects. Blocks until one connection is made, or none can be made any more.
  func run() throws(End) -> StreamSocket {
    var running = try Running(self)
    return try running.next()
  }
}

extension Race {
  private final class Attempt {
    let place: Int
    var socket: StreamSocket?

    init(_ place: Int, _ socket: consuming StreamSocket) {
      self.place = place
      self.socket = consume socket
    }

    /// The descriptor to wait for.
    var raw: CInt? { socket?.raw }
  }

  /// A race that has begun: the attempts that still run, and the kernel's reasons for those that
  /// failed.
  struct Running: ~Copyable {
    private let plan: Race
    /// Takes the connections that the other end makes meanwhile.
    private var listener: ListeningSocket?
    /// Whether the next wait is for these connections too.
    private var isAccepting = true
    private let clock = LoopClock()
    private var poller: Poller
    private var race: AddressRace
    private var attempts: [Attempt] = []
    private var errors: [Int: SystemError] = [:]
    private let own: Set<[UInt8]>

    init(_ plan: Race, with listener: consuming ListeningSocket? = nil) throws(End) {
      self.init(plan, listener, try SystemError.mapped(Poller()) { End.broken($0) })
    }

    /// Nothing throws here: Swift 6.2 would destroy twice what a value has that it cannot complete.
    private init(_ plan: Race, _ listener: consuming ListeningSocket?, _ poller: consuming Poller) {
      self.plan = plan
      self.poller = poller
      own = plan.isRound ? Set((try? SocketAddress.localAddresses(port: 0))?.map(\.bytes) ?? []) : []
      race = AddressRace(
        count: plan.addresses.count, now: clock.now, patience: plan.patience, isRound: plan.isRound)
      self.listener = listener
    }

    /// The next connection that is made. Blocks until then, or until none can be made any more.
    mutating func next() throws(End) -> StreamSocket {
      while true {
        if let socket = try take() { return socket }
        try wait()
      }
    }

    /// The next connection; nil while attempts are running and none has succeeded. Without
    /// `accepting`, the connections of the other end wait.
    mutating func take(accepting isOpen: Bool = true) throws(End) -> StreamSocket? {
      begin()
      if let winner = winner(), let socket = winner.socket.take() { return socket }
      // Before accepting, since the other end's connections may never end.
      if let loss = race.loss(now: clock.now) { throw lost(loss) }
      isAccepting = isOpen
      guard isOpen else { return nil }
      do throws(SystemError) {
        return try listener?.accept()
      } catch {
        // For lack of descriptors the connection stays in the kernel, and would end every wait.
        isAccepting = false
        return nil
      }
    }

    /// Waits until `take` may have a result, or for something else.
    mutating func wait(or others: [Poller.Interest] = []) throws(End) {
      var interests = [Poller.Interest(plan.wakeup.raw, .readable)] + others
      if isAccepting, let raw = listener?.raw { interests.append(Poller.Interest(raw, .readable)) }
      interests += attempts.compactMap { $0.raw.map { Poller.Interest($0, .writable) } }
      let moment = clock.instant(race.nextMoment)
      do throws(SystemError) { _ = try poller.wait(&interests, until: moment) } catch { throw .broken(error) }
      if !interests[0].ready.isEmpty {
        plan.wakeup.clear()
        if plan.isStopped() { throw .stopped }
      }
    }

    private mutating func begin() {
      while let place = race.begin(now: clock.now) {
        if own.contains(plan.addresses[place].bytes) { continue }
        do throws(SystemError) {
          let socket = try StreamSocket.connect(
            to: plan.addresses[place], hasSmallSegments: plan.hasSmallSegments, from: plan.port)
          attempts.append(Attempt(place, socket))
        } catch {
          failed(place, error)
        }
      }
    }

    private mutating func failed(_ place: Int, _ error: SystemError) {
      race.failed(place, by: AddressRace.Obstacle(error), now: clock.now)
      errors[place] = error
      attempts.removeAll { $0.place == place }
    }

    /// The first attempt that is connected. Removes it, and failed attempts.
    private mutating func winner() -> Attempt? {
      for attempt in attempts {
        do throws(SystemError) {
          guard try attempt.socket?.finishConnecting() == true else { continue }
          race.taken(attempt.place)
          attempts.removeAll { $0 === attempt }
          return attempt
        } catch {
          failed(attempt.place, error)
        }
      }
      return nil
    }

    private func lost(_ loss: AddressRace.Loss) -> End {
      let address = plan.addresses[loss.place]
      let silence = SystemError(reason: "it does not answer", operation: "connect to", subject: address.description)
      return .lost(address, loss.obstacle, errors[loss.place] ?? silence)
    }
  }
}

extension AddressRace.Obstacle {
  /// The meaning of the kernel's error for a connection that failed.
  init(_ error: SystemError) {
    if error.isConnectionRefused {
      self = .refused
    } else if error.isUnreachable {
      self = .noRoute
    } else if error.isPermissionDenied {
      self = .forbidden
    } else if error.isTimedOut {
      self = .silent
    } else {
      self = .other(error.words)
    }
  }
}
