import MigrationEngine
import MigrationSystem

/// Runs an `AddressRace`: TCP connections, of which the first that is up is given away and the
/// others are closed.
struct Race: Sendable {
  /// Why no connection came up.
  enum Failure: Error, Sendable {
    case stopped
    /// No address answered: the most telling one, and the kernel's reason for it.
    case lost(SocketAddress, AddressRace.Obstacle, SystemError)
    /// Something of this device.
    case broken(SystemError)
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

  /// Connects; blocks until one is up, or none can come up any more.
  func run() throws(Failure) -> StreamSocket {
    let clock = LoopClock()
    var course = Course(race: AddressRace(count: addresses.count, now: clock.now, patience: patience))
    var poller = try system { () throws(SystemError) in try Poller() }
    while true {
      begin(&course, clock)
      if let winner = winner(&course, clock), let socket = winner.socket.take() { return socket }
      if let loss = course.race.loss(now: clock.now) { throw lost(loss, course.errors[loss.place]) }
      var interests = course.attempts.compactMap { $0.raw.map { Poller.Interest($0, .writable) } }
      interests.append(Poller.Interest(wakeup.raw, .readable))
      let moment = clock.instant(course.race.nextMoment)
      _ = try system { () throws(SystemError) in try poller.wait(&interests, until: moment) }
      if interests.last?.ready.isEmpty == false {
        wakeup.clear()
        if isStopped() { throw .stopped }
      }
    }
  }

  private func system<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(Failure) -> Result {
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

  /// The first attempt that is up; those that have failed are over.
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
    } else if error.isTimedOut {
      self = .silent
    } else {
      self = .other(error.words)
    }
  }
}
