package import MigrationArchive
import MigrationSystem
import MigrationWire

extension ReportedError {
  /// The exporter's error for a failed append, as one of Foundation's file errors.
  package init(appending error: ArchiveError) {
    let code: Cocoa =
      switch error.code {
      case .path: .fileWriteInvalidFileName
      case .exists: .fileWriteFileExists
      case _ where error.cause?.isNotFound == true: .fileReadNoSuchFile
      case _ where error.cause?.isPermissionDenied == true: .fileReadNoPermission
      default: .fileReadUnknown
      }
    self.init(code, error.description, path: error.name.map { String(decoding: $0, as: UTF8.self) })
  }

  /// The archiver's answer after the export was cancelled.
  package static let cancelled = ReportedError(
    domain: cancellationDomain, code: 1, text: "The migration was cancelled.")

  /// An exporter ended as if its export were complete, although the archiver had thrown the
  /// cancellation.
  package static let swallowedCancellation = ReportedError(
    domain: systemDomain, code: 3, text: "The exporter did not rethrow its cancellation.")

  /// Swift's own CancellationError, which has no number in Foundation.
  package static let cancellationDomain = "Swift.CancellationError"
}
