import MigrationWire

/// One fault of a bundle.
package struct BundleFault: Equatable, Sendable {
  /// The path in the bundle of the faulty file.
  package let file: [UInt8]
  /// The faulty key of a property list.
  package let key: String?
  /// A lower-case clause that can follow the file, or the key, and a colon.
  package let reason: String
  /// A sentence that says what to do.
  package let hint: String
}

/// All faults of a bundle, in the order in which they were found. The rest of the bundle is read
/// despite a fault.
final class BundleFaults {
  private(set) var all: [HostError] = []

  /// Records a fault.
  func note(_ fault: HostError) { all.append(fault) }

  /// Performs a part of the reading; nil if it finds a fault, which is recorded.
  func noting<Value>(_ body: () throws(HostError) -> Value) throws(HostError) -> Value? {
    do {
      return try body()
    } catch {
      guard let fault = error.fault else { throw error }
      // A fault of a whole file counts once: a named pipe is not a property list, and also not
      // missing.
      if fault.key == nil, all.contains(where: { $0.fault?.key == nil && $0.fault?.file == fault.file }) { return nil }
      all.append(error)
      return nil
    }
  }
}

extension HostError {
  /// A bundle is unusable because of a file in it, or because of a key in that file.
  static func bundle(
    _ file: some Sequence<UInt8>, key: String? = nil, _ reason: String, hint: String? = nil
  ) -> HostError {
    let hint = hint ?? "'peer help app install' says how a bundle is made."
    let words = key.map { "\($0): \(reason)" } ?? reason
    return HostError(
      .bundle, "the bundle is invalid: \(VisibleText.quoted(file)): \(words)", hint: hint, name: Array(file),
      fault: BundleFault(file: Array(file), key: key, reason: reason, hint: hint))
  }

  static func bundle(_ file: String, key: String? = nil, _ reason: String, hint: String? = nil) -> HostError {
    .bundle(file.utf8, key: key, reason, hint: hint)
  }
}
