extension Progress {
  /// How often an import's progress is looked at; Foundation on Linux tells nobody of changes.
  private static let interval = Duration.milliseconds(100)

  /// How much is done; what is no number, or beyond the whole, is not believed.
  var millionths: UInt32 {
    let fraction = fractionCompleted
    return fraction > 0 ? UInt32(min(fraction, 1) * 1_000_000) : 0
  }

  /// Runs `body`, and meanwhile reports whenever this has changed; nothing is reported after it returns.
  func watched(by report: @escaping @Sendable (UInt32) -> Void, while body: () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.watch(report) }
      try await body()
      group.cancelAll()
    }
  }

  private func watch(_ report: (UInt32) -> Void) async {
    var last: UInt32 = 0
    while (try? await Task.sleep(for: Self.interval)) != nil {
      let now = millionths
      if now != last { report(now) }
      last = now
    }
  }
}
