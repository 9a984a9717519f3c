import Glibc

/// The cost of the inputs: each may cost as much as its target states.
///
/// The time is the processor's. A busy machine, or one that another machine slows down, changes it
/// all the same: an input is too slow if it is so each time that it is read. Only the sanitizer's
/// runtime counts allocations.
struct InputCost {
  /// How often an input is read before it is too slow.
  private static let attempts = 5

  #if DEBUG
    /// How much slower code is without the optimizer.
    private static let slowness: Int64 = 10
  #else
    private static let slowness: Int64 = 1
  #endif

  /// The most that one input has cost so far, in bytes and in nanoseconds.
  private var most: (memory: Int, time: Int64) = (0, 0)
  /// The first input also sets up what all use.
  private var isFirst = true

  init() {
    typealias Hook = @convention(c) (UnsafeRawPointer?, Int) -> Void
    typealias Install = @convention(c) (Hook, @convention(c) (UnsafeRawPointer?) -> Void) -> Int32
    guard let symbol = dlsym(nil, "__sanitizer_install_malloc_and_free_hooks") else { return }
    _ = unsafeBitCast(symbol, to: Install.self)({ _, size in allocated &+= size }, { _ in })
  }

  /// Reads an input.
  mutating func run(_ target: FuzzTarget, _ input: ArraySlice<UInt8>) {
    allocated = 0
    var time = Self.time { target.run(input) }
    let memory = allocated
    if isFirst {
      isFirst = false
      return
    }
    promise(memory <= target.memory << 10, "an input allocates \(memory >> 10) KiB; \(target.memory) are stated")
    let bound = Int64(target.time) * 1_000_000 * Self.slowness
    for _ in 1..<Self.attempts where time > bound { time = min(time, Self.time { target.run(input) }) }
    promise(time <= bound, "an input takes \(time / 1_000_000) ms; \(target.time) are stated")
    most = (max(most.memory, memory), max(most.time, time))
  }

  /// For the table of Lab/fuzz.
  var line: String { "the costliest inputs: \(most.time / 1_000) µs, \((most.memory + 1023) >> 10) KiB" }

  private static func time(_ body: () -> Void) -> Int64 {
    let start = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
    body()
    return nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start
  }

  private static func nanoseconds(_ clock: clockid_t) -> Int64 {
    var now = timespec()
    clock_gettime(clock, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }
}

/// How many bytes have been allocated for the input that is read now.
// Unsafe: the sanitizer's hook takes no value with it. Where a target has several threads, some of
// their allocations may not count.
nonisolated(unsafe) private var allocated = 0
