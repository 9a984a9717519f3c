internal import MigrationHost

/// Errors as they cross between processes, and back.
extension ReportedError {
  /// What can be said of any error: as an `NSError`, its domain, code, words, and those entries that are texts.
  init(_ error: any Error) {
    if error is CancellationError {
      self = .cancelled
      return
    }
    // Foundation on Linux forgets these words where the error brings entries of its own too.
    let words = (error as? any LocalizedError)?.errorDescription
    let error = error as NSError
    let entries = error.userInfo.filter { $0.key != NSLocalizedDescriptionKey }
    self.init(
      domain: error.domain, code: error.code, text: words ?? error.localizedDescription,
      userInfo: entries.compactMapValues { $0 as? String })
  }

  /// The error as Foundation has it.
  var systemError: NSError { NSError(domain: domain, code: code, userInfo: entries) }

  /// The error as an archiver throws it.
  var thrownError: any Error {
    switch domain {
    case Self.cancellationDomain: CancellationError()
    case Self.cocoaDomain: CocoaError(CocoaError.Code(rawValue: code), userInfo: entries)
    default: systemError
    }
  }

  private var entries: [String: Any] {
    var entries: [String: Any] = userInfo
    entries[NSLocalizedDescriptionKey] = text
    return entries
  }
}
