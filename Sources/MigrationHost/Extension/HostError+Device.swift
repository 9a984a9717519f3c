import MigrationArchive
import MigrationSystem

// Failures of this device during the start of an extension, which are faults of neither the
// extension nor the bundle.

extension ArchiveError {
  /// A failure with an app on this device, with the cause in its text.
  init(ofDevice error: HostError) {
    self.init(error.code == .noSpace ? .noSpace : .storage, error.description, hint: error.hint, name: error.name)
  }
}

extension HostError {
  /// The same, if no transfer has begun.
  init(ofDevice error: ArchiveError) {
    self.init(error.code == .noSpace ? .noSpace : .storage, error.description, hint: error.hint, name: error.name)
  }
}
