internal import MigrationHost
internal import MigrationSystem

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

extension CocoaError {
  /// Foundation's error for a code, with this module's text.
  init(_ code: CocoaError.Code, _ text: String, path: String? = nil, url: URL? = nil) {
    var entries: [String: Any] = [NSLocalizedDescriptionKey: text]
    if let path { entries[NSFilePathErrorKey] = path }
    if let url { entries[NSURLErrorKey] = url }
    self.init(code, userInfo: entries)
  }

  /// Foundation's error for a file that cannot be read for this reason.
  init(reading path: [UInt8], _ error: SystemError) {
    let code: CocoaError.Code
    switch error.errno {
    case ENOENT, ENOTDIR: code = .fileReadNoSuchFile
    case EACCES, EPERM: code = .fileReadNoPermission
    case EINVAL, ENAMETOOLONG: code = .fileReadInvalidFileName
    default: code = .fileReadUnknown
    }
    self.init(
      code, "cannot \(error.operation) \(path.escapedText): \(error.words)", path: String(decoding: path, as: UTF8.self)
    )
  }
}
