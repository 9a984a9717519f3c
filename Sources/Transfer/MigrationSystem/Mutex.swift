import Glibc

// All modules take their mutex from here and not from Synchronization. That library's mutex waits
// in the kernel without the C library, which neither the thread sanitizer nor the world of Tests/World
// can see. Builds for debugging therefore have PEER_PTHREAD_MUTEX; releases use the library's mutex.
#if PEER_PTHREAD_MUTEX

  /// A value that one thread at a time may access, behind a mutex of the C library.
  ///
  /// `@unchecked`: the pointer is set once, and its target is accessed only under the mutex.
  @safe package struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let mutex = NativeMutex()
    private let value: UnsafeMutablePointer<Value>

    package init(_ initial: consuming sending Value) {
      unsafe value = .allocate(capacity: 1)
      unsafe value.initialize(to: initial)
    }

    deinit {
      unsafe value.deinitialize(count: 1)
      unsafe value.deallocate()
    }

    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      mutex.lock()
      defer { mutex.unlock() }
      return try unsafe body(&value.pointee)
    }

    package borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
      guard mutex.tryLock() else { return nil }
      defer { mutex.unlock() }
      return try unsafe body(&value.pointee)
    }
  }

#else

  package import Synchronization

  /// A value that one thread at a time may access: the library's mutex, without any cost of its
  /// own.
  package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
    package let mutex: Synchronization.Mutex<Value>

    /// Protects a value.
    @inlinable package init(_ initial: consuming sending Value) {
      mutex = Synchronization.Mutex(initial)
    }

    /// Gives exclusive access to the value; waits until no other thread has it.
    @inlinable package borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      try mutex.withLock(body)
    }

    /// Gives exclusive access to the value if no other thread has it; otherwise nil, immediately.
    @inlinable package borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
      try mutex.withLockIfAvailable(body)
    }
  }

#endif

/// A mutex of the C library, without a value: threads sleep until it is free.
///
/// `@unchecked`: the pointer is set once, and its target is used only as the C library permits for
/// several threads.
@safe struct NativeMutex: ~Copyable, @unchecked Sendable {
  /// For the C library's other calls, such as `pthread_cond_wait`.
  let handle: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    unsafe handle = .allocate(capacity: 1)
    unsafe pthread_mutex_init(handle, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(handle)
    unsafe handle.deallocate()
  }

  func lock() { unsafe pthread_mutex_lock(handle) }
  func unlock() { unsafe pthread_mutex_unlock(handle) }

  /// Locks it if no thread holds it, and says whether it did.
  func tryLock() -> Bool { unsafe pthread_mutex_trylock(handle) == 0 }
}

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

/// Carries a value with one owner into a closure that runs once.
package final class Handover<Value: ~Copyable & Sendable>: Sendable {
  private let value: Mutex<Value?>

  package init(_ value: consuming sending Value) { self.value = Mutex(value) }

  /// Takes the value out. Called once.
  package func take() -> Value {
    guard let taken = takeIfThere() else { preconditionFailure("a handover happens only once") }
    return taken
  }

  /// Takes the value out; nil if it was taken before.
  package func takeIfThere() -> Value? { value.withLock { $0.take() } }
}
