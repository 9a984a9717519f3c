import Glibc

/// A state behind a mutex, with threads that wait for it to change.
///
/// `@unchecked`: the pointer is set once, its target is used only as the C library permits for
/// several threads, and the state is accessed only under the mutex.
@safe package final class Condition<State: ~Copyable & Sendable>: @unchecked Sendable {
  private let mutex = NativeMutex()
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var state: State

  /// Protects a state.
  package init(_ state: consuming State) {
    self.state = state
    unsafe condition = .allocate(capacity: 1)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
  }

  /// Gives exclusive access to the state. Code that changes a state that others wait for signals
  /// afterwards.
  package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    mutex.lock()
    defer { mutex.unlock() }
    return try body(&state)
  }

  /// Calls `body` under the lock, now and after each change, until it returns a result; nil if the
  /// deadline passes first.
  ///
  /// The deadline is checked after each change and after its time has passed on a clock that stops
  /// while the machine sleeps, so it may be late by the time of the sleep. `body` is then called
  /// one last time.
  package func wait<Result: ~Copyable, Failure: Error>(
    until deadline: BootInstant? = nil, _ body: (inout State) throws(Failure) -> Result?
  ) throws(Failure) -> Result? {
    LoopThread.check("wait for a condition")
    mutex.lock()
    defer { mutex.unlock() }
    while true {
      if let result = try body(&state) { return result }
      guard let deadline else {
        unsafe pthread_cond_wait(condition, mutex.handle)
        continue
      }
      let rest = deadline.nanoseconds - BootInstant.now().nanoseconds
      if rest <= 0 { return nil }
      let end = BootInstant(nanoseconds: BootInstant.reading(of: CLOCK_MONOTONIC)).advanced(by: .nanoseconds(rest))
      var time = timespec(
        tv_sec: Int(end.nanoseconds / 1_000_000_000), tv_nsec: Int(end.nanoseconds % 1_000_000_000))
      unsafe pthread_cond_timedwait(condition, mutex.handle, &time)
    }
  }

  /// Wakes one waiting thread.
  package func signal() {
    unsafe pthread_cond_signal(condition)
  }

  /// Wakes all waiting threads.
  package func broadcast() {
    unsafe pthread_cond_broadcast(condition)
  }
}
