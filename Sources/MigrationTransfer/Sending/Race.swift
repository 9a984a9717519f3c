import MigrationEngine
import MigrationSystem

/// Runs an `AddressRace` with TCP connections: returns the first that is made, and closes the
/// others.
struct Race: Sendable {
  /// The reason why no connection was made.
  enum Failure: Error, Sendable {
    case stopped
    /// No address answered: the address with the most informative failure, and the kernel's reason.
    case lost(SocketAddress, AddressRace.Obstacle, SystemError)
    /// Something of this device.
    case broken(SystemError)
    /// A relay was reached that this device cannot use.
    case unfit(TransferFailure)
  }

  /// In the order in which they are tried; at least one.
  let addresses: [SocketAddress]
  var hasSmallSegments = false
  /// For how many seconds.
  let patience: Double
  let wakeup: Wakeup
  /// Whether a wakeup means that this device gives up.
  let isStopped: @Sendable () -> Bool

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

  /// The attempts that still run, and the kernel's reasons for those that failed.
  private struct Course {
    var race: AddressRace
    var attempts: [Attempt] = []
    var errors: [Int: SystemError] = [:]

    mutating func failed(_ place: Int, _ error: SystemError, now: Double) {
      race.failed(place, by: AddressRace.Obstacle(error), now: now)
      errors[place] = error
      attempts.removeAll { $0.place == place }
    }
  }

  /// Connects. Blocks until one connection is made, or none can be made any more.
  func run() throws(Failure) -> StreamSocket {
    let clock = LoopClock()
    var course = Course(race: AddressRace(count: addresses.count, now: clock.now, patience: patience))
    var poller = try Self.system { () throws(SystemError) in try Poller() }
    while true {
      begin(&course, clock)
      if let winner = winner(&course, clock), let socket = winner.socket.take() { return socket }
      if let loss = course.race.loss(now: clock.now) { throw lost(loss, course.errors[loss.place]) }
      var interests = course.attempts.compactMap { $0.raw.map { Poller.Interest($0, .writable) } }
      interests.append(Poller.Interest(wakeup.raw, .readable))
      let moment = clock.instant(course.race.nextMoment)
      _ = try Self.system { () throws(SystemError) in try poller.wait(&interests, until: moment) }
      if interests.last?.ready.isEmpty == false {
        wakeup.clear()
        if isStopped() { throw .stopped }
      }
    }
  }

  /// Runs something of this device that the kernel may refuse.
  static func system<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(Failure) -> Result {
    do throws(SystemError) { return try body() } catch { throw .broken(error) }
  }

  private func begin(_ course: inout Course, _ clock: LoopClock) {
    while let place = course.race.begin(now: clock.now) {
      do throws(SystemError) {
        let socket = try StreamSocket.connect(to: addresses[place], hasSmallSegments: hasSmallSegments)
        course.attempts.append(Attempt(place, socket))
      } catch {
        course.failed(place, error, now: clock.now)
      }
    }
  }

  /// The first attempt that is connected. Removes failed attempts.
  private func winner(_ course: inout Course, _ clock: LoopClock) -> Attempt? {
    for attempt in course.attempts {
      do throws(SystemError) {
        if try attempt.socket?.finishConnecting() == true { return attempt }
      } catch {
        course.failed(attempt.place, error, now: clock.now)
      }
    }
    return nil
  }

  private func lost(_ loss: AddressRace.Loss, _ error: SystemError?) -> Failure {
    let address = addresses[loss.place]
    let silence = SystemError(reason: "it does not answer", operation: "connect to", subject: address.description)
    return .lost(address, loss.obstacle, error ?? silence)
  }
}

extension AddressRace.Obstacle {
  /// The meaning of the kernel's error for a connection that failed.
  init(_ error: SystemError) {
    if error.isConnectionRefused {
      self = .refused
    } else if error.isUnreachable {
      self = .noWay
    } else if error.isPermissionDenied {
      self = .forbidden
    } else if error.isTimedOut {
      self = .silent
    } else {
      self = .other(error.words)
    }
  }
}
