import MigrationSystem

/// Limits the number of threads that compute at the same time the costly answers to strangers.
final class ComputeGate: Sendable {
  private let free: Condition<Int>

  init(places: Int = CurrentProcess.processors) { free = Condition(places) }

  func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    _ = free.wait { free -> Bool? in
      guard free > 0 else { return nil }
      free -= 1
      return true
    }
    defer {
      free.withLock { $0 += 1 }
      free.signal()
    }
    return try body()
  }
}
