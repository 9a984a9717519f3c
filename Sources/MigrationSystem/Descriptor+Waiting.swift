extension Descriptor {
  /// How long a lock may still be held by a process that was killed and has not let go of its files yet.
  package static let patience = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(20)

  /// Locks a file or directory. It waits a moment for a process that is ending to let go of the lock, and is false if another
  /// still has it.
  package func lockOnceFree(exclusive: Bool = true, within patience: Duration = patience) throws(SystemError) -> Bool {
    let deadline = BootInstant.now() + patience
    var poller = try Poller()
    while try !lock(exclusive: exclusive) {
      guard BootInstant.now() < deadline else { return false }
      var nothing: [Poller.Interest] = []
      _ = try poller.wait(&nothing, until: BootInstant.now() + Self.pause)
    }
    return true
  }
}
