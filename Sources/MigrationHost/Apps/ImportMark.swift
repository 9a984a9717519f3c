/// The note that an import into an app's container is going on, or was when something interrupted it.
struct ImportMark: Equatable {
  /// The transfer, 32 hexadecimal digits.
  var transfer: String
  /// Whether what the import brought has been removed already, so that what is there now is what was there before.
  var isRestoring = false

  private static let restoring = "restoring"

  init(transfer: String) { self.transfer = transfer }

  /// Reads a mark. Whatever a file says, that it is there means that an import was begun.
  init(_ bytes: [UInt8]) {
    let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
    transfer = words.first ?? ""
    isRestoring = words.dropFirst().first == Self.restoring
  }

  var encoded: [UInt8] { Array("\(transfer)\(isRestoring ? " \(Self.restoring)" : "")\n".utf8) }
}

extension ReportedError {
  /// The domain of errors that the system itself reports to an app.
  package static let systemDomain = "PeerMigrationErrorDomain"

  /// What an app is told whose importer did not come to its end by itself.
  static func brokenImport(_ text: String) -> ReportedError {
    ReportedError(domain: systemDomain, code: 2, text: text)
  }

  /// What an app is told whose import was interrupted: by a crash, a kill or a power loss.
  package static let interruptedImport = ReportedError(
    domain: systemDomain, code: 1, text: "The import was interrupted.")
}
