import CSystem
import Glibc

/// Waits for several descriptors, or for a time on the clock that runs while the machine sleeps.
///
/// One thread uses it. The deadline is a timer among the descriptors, because the time-out of
/// poll(2) stops during sleep: so a connection that died meanwhile is noticed immediately on
/// waking.
package struct Poller: ~Copyable, Sendable {
  /// The conditions to wait for, and the conditions found.
  package struct Readiness: OptionSet, Hashable, Sendable {
    package let rawValue: Int16

    package init(rawValue: Int16) {
      self.rawValue = rawValue
    }

    /// Bytes, a connection, or the end of the stream.
    package static let readable = Readiness(rawValue: Int16(POLLIN))
    /// Space for bytes, or the end of connecting.
    package static let writable = Readiness(rawValue: Int16(POLLOUT))
    /// The other end is closed in both directions. Reported even if not requested.
    package static let hangUp = Readiness(rawValue: Int16(POLLHUP))
    /// The descriptor has an error to fetch, or is invalid. Reported even if not requested.
    package static let failed = Readiness(rawValue: Int16(POLLERR | POLLNVAL))
  }

  /// One descriptor to wait for.
  package struct Interest: Sendable {
    /// The descriptor, which its owner keeps open during the wait.
    package var raw: CInt
    /// The conditions to wait for; without any, only hang-up and failure end the wait.
    package var wanted: Readiness
    /// The conditions that the last wait found.
    package fileprivate(set) var ready: Readiness = []

    /// Waits for conditions on a descriptor.
    package init(_ raw: CInt, _ wanted: Readiness) {
      self.raw = raw
      self.wanted = wanted
    }
  }

  private let timer: Descriptor
  private let isLoops: Bool
  private var armed: BootInstant?
  private var records: [pollfd]

  /// Creates a poller; it uses one descriptor. A loop's thread waits only with its own poller.
  package init(ofLoop isLoops: Bool = false) throws(SystemError) {
    self.isLoops = isLoops
    timer = Descriptor(owning: try calling("make a timer") { csystem_timer() })
    // Not before something throws: Swift 6.2 would destroy it twice.
    records = []
  }

  /// Waits until one of the descriptors is ready, and records which are; false if the deadline
  /// passes first.
  ///
  /// With a deadline in the past it checks without waiting; without a deadline it waits without
  /// limit.
  package mutating func wait(
    _ interests: inout [Interest], until deadline: BootInstant? = nil
  ) throws(SystemError) -> Bool {
    records.removeAll(keepingCapacity: true)
    for interest in interests {
      records.append(pollfd(fd: interest.raw, events: interest.wanted.rawValue, revents: 0))
    }
    var timeout: CInt = -1
    if let deadline {
      if deadline <= .now() { timeout = 0 } else { try arm(deadline) }
      records.append(pollfd(fd: timer.raw, events: Int16(POLLIN), revents: 0))
    }
    let operation = timeout == 0 ? "look at descriptors" : isLoops ? "wait for a loop's descriptors" : "wait"
    _ = try calling(operation) { unsafe poll(&records, nfds_t(records.count), timeout) }
    var isAnyReady = false
    for index in interests.indices {
      interests[index].ready = Readiness(rawValue: records[index].revents)
      if records[index].revents != 0 { isAnyReady = true }
    }
    return isAnyReady
  }

  private mutating func arm(_ deadline: BootInstant) throws(SystemError) {
    if armed == deadline { return }
    try perform("set a timer") { csystem_set_timer(timer.raw, deadline.nanoseconds) }
    armed = deadline
  }

  /// Waits for one descriptor; returns nothing if the deadline passes first.
  package mutating func wait(
    for wanted: Readiness, on raw: CInt, until deadline: BootInstant? = nil
  ) throws(SystemError) -> Readiness {
    var interests = [Interest(raw, wanted)]
    return try wait(&interests, until: deadline) ? interests[0].ready : []
  }
}

/// Lets any thread end another thread's wait.
///
/// It stays readable from the first signal until it is cleared, regardless of the number of
/// signals. The waiting thread clears it before it checks the reason for the signal, so that no
/// signal is missed.
package final class Wakeup: Sendable {
  private let event: Descriptor

  /// Creates a wakeup without a signal.
  package init() throws(SystemError) {
    event = Descriptor(owning: try calling("make an event") { csystem_event() })
  }

  /// The descriptor to wait for.
  package var raw: CInt { event.raw }

  /// Ends the wait. Never blocks; its only possible error means that it is signalled already.
  package func signal() {
    _ = csystem_signal_event(event.raw)
  }

  /// Clears the signal.
  package func clear() {
    _ = csystem_clear_event(event.raw)
  }
}
