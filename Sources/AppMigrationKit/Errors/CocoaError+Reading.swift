internal import MigrationSystem

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
