internal import MigrationHost
internal import MigrationSystem

/// The conversion of errors for the way between processes, and back.
extension ReportedError {
  /// The parts of any error as an `NSError`: its domain, its code, its text, and the entries that
  /// are texts. The description for developers has the values of a Swift error without words, and
  /// the underlying error.
  init(_ error: any Error) { self.init(error, depth: 0) }

  private init(_ error: any Error, depth: Int) {
    if error is CancellationError {
      self = .cancelled
      return
    }
    // Foundation on Linux loses this text if the error also has its own entries.
    let localized = error as? any LocalizedError
    let words = localized?.errorDescription
    let system = error as NSError
    var entries = system.userInfo.filter { $0.key != NSLocalizedDescriptionKey }.compactMapValues { $0 as? String }
    if entries[Key.path] == nil, let url = system.userInfo[NSURLErrorKey] as? URL, url.isFileURL {
      entries[Key.path] = url.path
    }
    if let reason = localized?.failureReason { entries[Key.failureReason] = reason }
    if let suggestion = localized?.recoverySuggestion { entries[Key.recoverySuggestion] = suggestion }
    let hasWords = words != nil || system.userInfo[NSLocalizedDescriptionKey] != nil
    let underlying = (system.userInfo[NSUnderlyingErrorKey] as? any Error).flatMap {
      depth < Self.mostUnderlying ? ReportedError($0, depth: depth + 1).sentence : nil
    }
    let details = Self.joined([entries[Key.debugDescription], hasWords ? nil : Self.values(of: error), underlying])
    if !details.isEmpty { entries[Key.debugDescription] = details }
    self.init(
      domain: system.domain, code: system.code, text: words ?? system.localizedDescription, userInfo: entries)
  }

  /// The depth to which underlying errors are described; an error may name itself.
  private static let mostUnderlying = 3

  /// The case and the values of a Swift error; nil for the errors of Foundation, whose parts are in
  /// their user information.
  private static func values(of error: any Error) -> String? {
    switch error {
    case is CocoaError, is POSIXError, is URLError: nil
    case let error as DecodingError: words(of: error)
    default: type(of: error) is NSError.Type ? nil : String(describing: error)
    }
  }

  /// The path in the data, and the reason: before 6.3 the standard library has no words for them.
  private static func words(of error: DecodingError) -> String {
    let context: DecodingError.Context
    switch error {
    case .typeMismatch(_, let known), .valueNotFound(_, let known): context = known
    case .keyNotFound(_, let known), .dataCorrupted(let known): context = known
    @unknown default: return String(describing: error)
    }
    var path = ""
    for key in context.codingPath {
      path += key.intValue.map { "[\($0)]" } ?? "\(path.isEmpty ? "" : ".")\(key.stringValue)"
    }
    return joined([
      path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)",
      context.underlyingError.map { String(describing: $0) },
    ])
  }

  /// The error as an error of Foundation.
  var systemError: NSError { NSError(domain: domain, code: code, userInfo: entries) }

  /// The error that an archiver throws.
  var thrownError: any Error {
    switch domain {
    case Self.cancellationDomain: CancellationError()
    case Self.cocoaDomain: CocoaError(CocoaError.Code(rawValue: code), userInfo: entries)
    // The description of an error, which a test prints, has the reason and not the text.
    case Self.systemDomain:
      NSError(domain: domain, code: code, userInfo: entries.merging([Key.failureReason: text]) { old, _ in old })
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
