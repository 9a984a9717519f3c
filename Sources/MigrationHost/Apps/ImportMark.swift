/// The record that an import into an app's container is in progress, or was when it was
/// interrupted.
struct ImportMark: Equatable {
  /// The transfer, 32 hexadecimal digits.
  var transfer: String
  /// Whether the imported data has been removed already, so that the container has its previous
  /// data.
  var isRestoring = false

  private static let restoring = "restoring"

  init(transfer: String) { self.transfer = transfer }

  /// Parses a mark. Regardless of its contents, its existence means that an import was begun.
  init(_ bytes: [UInt8]) {
    let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
    transfer = words.first ?? ""
    isRestoring = words.dropFirst().first == Self.restoring
  }

  var encoded: [UInt8] { Array("\(transfer)\(isRestoring ? " \(Self.restoring)" : "")\n".utf8) }
}

extension ReportedError {
  /// The domain of errors that the system reports to an app.
  package static let systemDomain = "PeerMigrationErrorDomain"

  /// The app's error if its importer did not complete by itself.
  static func brokenImport(_ text: String) -> ReportedError {
    ReportedError(domain: systemDomain, code: 2, text: text)
  }

  /// The app's error if its import was interrupted by a crash, a kill or a power loss.
  package static let interruptedImport = ReportedError(
    domain: systemDomain, code: 1, text: "The import was interrupted.")
}
