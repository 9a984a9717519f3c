// All modules take their mutex from here and not from Synchronization. That library's mutex waits
// in the kernel without the C library, which the thread sanitizer cannot see, so the sanitizer
// would report each access to a protected value as a race. Lab/sanitize therefore builds with
// PEER_PTHREAD_MUTEX, and all other builds use the library's mutex.
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
