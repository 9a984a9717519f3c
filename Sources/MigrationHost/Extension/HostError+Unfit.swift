import MigrationArchive
import MigrationSystem
import MigrationWire

extension HostError {
  /// An extension that is unusable for a migration: the file in the app's bundle, and the reason.
  /// Faults of this device remain such.
  static func unfit(_ site: ExtensionSite, _ error: ArchiveError, wanted: String) -> HostError {
    if error.code == .stopped { return HostError(.stopped, "interrupted") }
    if error.code != .exportFailed { return HostError(ofDevice: error) }
    let program = site.migrationExtension.executable
    let file = Array(program.dropFirst(site.bundle.path.count + 1))
    return HostError(
      .unfit, "the bundle is invalid: \(VisibleText.quoted(file)): \(error.description)",
      hint: hint(for: site, error, wanted: wanted), name: file)
  }

  private static func hint(for site: ExtensionSite, _ error: ArchiveError, wanted: String) -> String {
    let isForbidden = error.cause?.isPermissionDenied == true
    switch site.draft {
    case nil:
      return isForbidden
        ? "Set PEER_HOME to a directory on a disk that programs may run from."
        : "Install an edition of the app whose extension can \(wanted): 'peer app install' replaces this one."
    case site.bundle.path?:
      return isForbidden
        ? forbidden : mend(site.bundle.path)
    case let draft?:
      return isForbidden
        ? "Set TMPDIR to a directory on a disk that programs may run from, or name one with --home." : mend(draft)
    }
  }

  /// The hint if the kernel refuses to run a program of a bundle.
  static let forbidden = "Put the bundle on a disk that programs may run from."

  private static func mend(_ bundle: [UInt8]) -> String {
    "Repair the bundle; 'peer app check \(VisibleText.listed(bundle))' says more."
  }
}
