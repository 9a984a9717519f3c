import Glibc

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
