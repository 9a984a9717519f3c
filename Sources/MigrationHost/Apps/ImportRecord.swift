import FoundationEssentials
package import MigrationSystem

/// The result of an app's last import, kept until the app has read it: a JSON file outside the
/// container.
package struct ImportRecord: Codable, Equatable, Sendable {
  /// Nil for a success.
  package var failure: ReportedError?
  /// The transfer that brought the data, 32 hexadecimal digits; nil if there was none.
  package var transfer: String?
  /// In seconds since 1970.
  package var date: Int64

  package init(failure: ReportedError?, transfer: String?, date: Int64) {
    self.failure = failure
    self.transfer = transfer
    self.date = date
  }

  /// Reads a record; nil if there is none, or none that can be parsed.
  package static func read(from path: String) -> ImportRecord? {
    guard let bytes = try? FileContent.read(Array(path.utf8), limit: 1 << 20) else { return nil }
    return try? JSONDecoder().decode(ImportRecord.self, from: Data(bytes))
  }

  /// Replaces an older record; durable when it returns.
  package func write(to path: String) throws(SystemError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    guard let data = try? encoder.encode(self) else { preconditionFailure("a record can be written as JSON") }
    let (directory, name) = FileContent.split(Array(path.utf8))
    try Directory.open(directory).replaceFile(name, with: Array(data))
  }

  /// Removes the record, if there is one.
  package static func clear(_ path: String) throws(SystemError) {
    let (directory, name) = FileContent.split(Array(path.utf8))
    do {
      let directory = try Directory.open(directory)
      try directory.remove(name)
      try directory.synchronize()
    } catch  where error.isNotFound {
      // There is no record.
    }
  }
}
