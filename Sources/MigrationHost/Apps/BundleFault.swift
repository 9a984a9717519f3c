import MigrationWire

/// One thing that is wrong with a bundle.
package struct BundleFault: Equatable, Sendable {
  /// The path within the bundle of what is wrong.
  package let file: [UInt8]
  /// The key of a property list that it is about.
  package let key: String?
  /// A lower-case clause that can follow the file, or the key, and a colon.
  package let reason: String
  /// A sentence that says what to do.
  package let hint: String
}

/// Everything that is wrong with a bundle, in the order in which it was found. What can still be read is read.
final class BundleFaults {
  private(set) var all: [HostError] = []

  /// Notes a fault.
  func note(_ fault: HostError) { all.append(fault) }

  /// Does a part of the reading; nil where it finds a fault, which is noted.
  func noting<Value>(_ body: () throws(HostError) -> Value) throws(HostError) -> Value? {
    do {
      return try body()
    } catch {
      guard let fault = error.fault else { throw error }
      // What is wrong with a file as a whole is one fault: a named pipe is no property list, and is not missing.
      if fault.key == nil, all.contains(where: { $0.fault?.key == nil && $0.fault?.file == fault.file }) { return nil }
      all.append(error)
      return nil
    }
  }
}

extension HostError {
  /// A bundle cannot be used because of a file in it, or because of a key of that file.
  static func bundle(
    _ file: some Sequence<UInt8>, key: String? = nil, _ reason: String, hint: String? = nil
  ) -> HostError {
    let hint = hint ?? "'peer help app install' says how a bundle is made."
    let words = key.map { "\($0): \(reason)" } ?? reason
    return HostError(
      .bundle, "the bundle is not fit: \(VisibleText.quoted(file)): \(words)", hint: hint, name: Array(file),
      fault: BundleFault(file: Array(file), key: key, reason: reason, hint: hint))
  }

  static func bundle(_ file: String, key: String? = nil, _ reason: String, hint: String? = nil) -> HostError {
    .bundle(file.utf8, key: key, reason, hint: hint)
  }
}
