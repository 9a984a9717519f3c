extension Descriptor {
  /// How long a killed process may still hold a lock until the kernel closes its files.
  package static let patience = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(20)

  /// Locks a file or directory. Waits a moment for a process that is ending to release the lock;
  /// false if another process still has it.
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
