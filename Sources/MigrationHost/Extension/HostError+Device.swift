import MigrationArchive
import MigrationSystem

// What this device could not do while an extension was started is neither the extension's fault nor the bundle's.

extension ArchiveError {
  /// A failure with an app on this device, its cause included in its words.
  init(ofDevice error: HostError) {
    self.init(error.code == .noSpace ? .noSpace : .storage, error.description, hint: error.hint, name: error.name)
  }
}

extension HostError {
  /// The same, where no transfer has begun.
  init(ofDevice error: ArchiveError) {
    self.init(error.code == .noSpace ? .noSpace : .storage, error.description, hint: error.hint, name: error.name)
  }
}
