/// Moves the progress that the test has passed.
struct ProgressFollower: Sendable {
  private static let defaultTotal: Int64 = 100

  private let progress: Progress?

  /// Gives the progress a total if it has none.
  init(_ progress: Progress?) {
    self.progress = progress
    if let progress, progress.totalUnitCount <= 0 { progress.totalUnitCount = Self.defaultTotal }
  }

  /// Moves it to a fraction of the whole. Only success completes it, and it never decreases.
  func follow(_ fraction: Double) {
    guard let progress else { return }
    let count = Int64(Double(progress.totalUnitCount - 1) * min(max(fraction, 0), 1))
    if count > progress.completedUnitCount { progress.completedUnitCount = count }
  }

  func finish() {
    guard let progress else { return }
    progress.completedUnitCount = progress.totalUnitCount
  }
}
