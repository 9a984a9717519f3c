import MigrationArchive
import MigrationWire

extension HostError {
  /// An extension that is of no use for a migration: the file in the app's bundle, and the reason.
  static func unfit(_ bundle: AppBundle, _ error: ArchiveError, wanted: String) -> HostError {
    if error.code == .stopped { return HostError(.stopped, "interrupted") }
    let program = bundle.migrationExtension.executable
    let file = Array(program.dropFirst(bundle.path.count + 1))
    return HostError(
      .unfit, "the bundle is not fit: \(VisibleText.quoted(file)): \(error.description)",
      hint:
        "Install an edition of the app whose extension can \(wanted): 'peer app install' puts it in the place of this one.",
      name: file)
  }
}
