/// The size that an app's exporter has estimated for its export.
package enum EstimatedSize {
  /// From where on a difference is worth a word.
  private static let smallest: UInt64 = 1_048_576

  /// Whether an estimate was off by more than its half, and by 1 MiB at least.
  package static func isOff(_ estimate: UInt64, from actual: UInt64) -> Bool {
    let difference = max(actual, estimate) - min(actual, estimate)
    return difference > estimate / 2 && difference >= smallest
  }
}
