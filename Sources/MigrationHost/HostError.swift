import MigrationArchive
package import MigrationSystem
import MigrationWire

/// An operation with an app on this device that failed.
package struct HostError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure; later versions may add kinds.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The path of a bundle does not exist or is unreadable.
    package static let source = Code(rawValue: "source")
    /// A bundle is invalid.
    package static let bundle = Code(rawValue: "bundle")
    /// An app's extension cannot be started, or lacks the required ability.
    package static let unfit = Code(rawValue: "unfit")
    /// The user stopped the operation.
    package static let stopped = Code(rawValue: "stopped")
    /// No app of that identifier is installed.
    package static let notInstalled = Code(rawValue: "not installed")
    /// The app runs, or its data is being migrated, or it is being installed or removed.
    package static let inUse = Code(rawValue: "in use")
    /// An app's data container is unusable in its current state.
    package static let container = Code(rawValue: "container")
    /// Reading or writing failed.
    package static let storage = Code(rawValue: "storage")
    /// Apps cannot be kept at this place.
    package static let location = Code(rawValue: "location")
    /// There is not enough space.
    package static let noSpace = Code(rawValue: "no space")
  }

  package let code: Code
  /// A complete lower-case clause, safe to show.
  package let description: String
  /// A sentence that says what to do.
  package let hint: String?
  /// The bytes of the name that the error is about: a path, or an identifier.
  package let name: [UInt8]?
  /// The kernel's reason.
  package let cause: SystemError?
  /// The fault of a bundle, if that is the cause.
  package let fault: BundleFault?

  package init(
    _ code: Code, _ description: String, hint: String? = nil, name: [UInt8]? = nil, cause: SystemError? = nil,
    fault: BundleFault? = nil
  ) {
    self.fault = fault
    self.code = cause?.isNoSpace == true ? .noSpace : code
    self.description = cause.map { "\(description): \($0.words)" } ?? description
    self.hint = hint
    self.name = name
    self.cause = cause
  }

  /// Performs an operation of the kernel; `action` is the error's text if it fails: "the container
  /// of X cannot be made".
  static func wrapping<Result: ~Copyable>(
    _ code: Code, _ action: @autoclosure () -> String, _ body: @autoclosure () throws(SystemError) -> Result
  ) throws(HostError) -> Result {
    try SystemError.mapped(body()) { HostError(code, action(), cause: $0) }
  }

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

// Failures of this device during the start of an extension, which are faults of neither the
// extension nor the bundle.

extension ArchiveError {
  /// A failure with an app on this device, with the cause in its text.
  init(ofDevice error: HostError) {
    self.init(error.code == .noSpace ? .noSpace : .storage, error.description, hint: error.hint, name: error.name)
  }
}

extension ArchiveError {
  /// The reason why an app cannot be a part of a plan on this device.
  package init(ofPart error: HostError) {
    let code: ArchiveError.Code =
      switch error.code {
      case .notInstalled: .notInstalled
      case .inUse: .appInUse
      case .stopped: .stopped
      case .bundle, .unfit, .container, .location, .source: .destination
      case .noSpace: .noSpace
      default: .storage
      }
    self.init(code, error.description, hint: error.hint, name: error.name)
  }
}

extension HostError {
  /// The same, if no transfer has begun.
  init(ofDevice error: ArchiveError) {
    self.init(error.code == .noSpace ? .noSpace : .storage, error.description, hint: error.hint, name: error.name)
  }
}
