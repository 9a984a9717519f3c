package import MigrationSystem

/// The result of one look at an item of the source.
package struct SourceLook: Sendable {
  /// The kernel's status of the item.
  package let status: FileStatus
  /// How long another change could still have the same stamp as the last one; 0 if it could not.
  package let unsettledSeconds: Double
  /// The time of day before the look.
  let now: Timestamp

  init(status: FileStatus, unsettledSeconds: Double, now: Timestamp) {
    self.status = status
    self.unsettledSeconds = unsettledSeconds
    self.now = now
  }

  /// A look at a file system whose stamps this machine's clock makes; the clock showed `now` before
  /// the look.
  package init(status: FileStatus, at now: Timestamp) {
    self.init(status: status, unsettledSeconds: status.unsettledSeconds(at: now), now: now)
  }
}
