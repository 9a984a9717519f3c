package import MigrationSystem

/// What one look at an item of the source showed.
package struct SourceLook: Sendable {
  /// What the kernel knows about it.
  package let status: FileStatus
  /// How long another change could still hide behind the stamp of the last one; 0 if none could.
  package let unsettledSeconds: Double
  /// The time of day before the look.
  let now: Timestamp

  init(status: FileStatus, unsettledSeconds: Double, now: Timestamp) {
    self.status = status
    self.unsettledSeconds = unsettledSeconds
    self.now = now
  }

  /// A look where the clock of this machine makes the stamps, and showed `now` before it.
  package init(status: FileStatus, at now: Timestamp) {
    self.init(status: status, unsettledSeconds: status.unsettledSeconds(at: now), now: now)
  }
}
