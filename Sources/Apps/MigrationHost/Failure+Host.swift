import MigrationArchive
import MigrationSystem
package import MigrationWire

extension Failure {
  /// The same failure of an app, where the app is one of several parts.
  package var ofPart: Failure {
    switch code {
    case .failed: coded(.storage)
    case .source: coded(.unfitApp)
    default: coded(code)
    }
  }

  /// An extension that is unusable for a migration: the file in the app's bundle, and the reason.
  /// Faults of this device remain such.
  static func unfit(_ site: ExtensionSite, _ error: Failure, wanted: String) -> Failure {
    switch error.code {
    case .stopped: return Failure(.stopped, "interrupted", as: .interrupted)
    case .exportFailed: break
    case .noSpace: return error
    default: return error.coded(.failed)
    }
    let program = site.migrationExtension.executable
    let file = Array(program.dropFirst(site.bundle.path.count + 1))
    return Failure(
      .unfitApp, "the bundle is invalid: \(VisibleText.quoted(file)): \(error.message)",
      hint: hint(for: site, error, wanted: wanted), name: file)
  }

  private static func hint(for site: ExtensionSite, _ error: Failure, wanted: String) -> String {
    let isForbidden = error.cause?.isPermissionDenied == true
    switch site.draft {
    case nil:
      return isForbidden
        ? "Set PEER_HOME to a directory on a disk that programs may run from."
        : "Install an edition of the app whose extension can \(wanted): 'peer app install' replaces this one."
    case site.bundle.path?:
      return isForbidden
        ? forbidden : error.hint ?? mend(site.bundle.path)
    case let draft?:
      return isForbidden
        ? "Set TMPDIR to a directory on a disk that programs may run from, or name one with --home."
        : error.hint ?? mend(draft)
    }
  }

  /// The hint if the kernel refuses to run a program of a bundle.
  static let forbidden = "Put the bundle on a disk that programs may run from."

  private static func mend(_ bundle: [UInt8]) -> String {
    "Repair the bundle; 'peer app check \(VisibleText.listed(bundle))' says more."
  }
}
