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

  package init(file: [UInt8], key: String?, reason: String, hint: String) {
    self.file = file
    self.key = key
    self.reason = reason
    self.hint = hint
  }
}
