internal import MigrationHost

/// The conversion of errors for the way between processes, and back.
extension ReportedError {
  /// The parts of any error as an `NSError`: its domain, its code, its text, and the entries that
  /// are texts.
  init(_ error: any Error) {
    if error is CancellationError {
      self = .cancelled
      return
    }
    // Foundation on Linux loses this text if the error also has its own entries.
    let words = (error as? any LocalizedError)?.errorDescription
    let error = error as NSError
    let entries = error.userInfo.filter { $0.key != NSLocalizedDescriptionKey }
    self.init(
      domain: error.domain, code: error.code, text: words ?? error.localizedDescription,
      userInfo: entries.compactMapValues { $0 as? String })
  }

  /// The error as an error of Foundation.
  var systemError: NSError { NSError(domain: domain, code: code, userInfo: entries) }

  /// The error that an archiver throws.
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
