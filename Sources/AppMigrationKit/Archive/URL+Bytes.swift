extension URL {
  /// The path's bytes as the kernel is to be given them, without slashes at the end.
  ///
  /// Foundation's own conversion gives nothing for names that are not UTF-8, and changes none of the others; this undoes the
  /// percent encoding and nothing else.
  func fileSystemBytes() throws(CocoaError) -> [UInt8] {
    guard isFileURL else {
      throw CocoaError(.fileReadUnsupportedScheme, "\"\(absoluteString)\" is no file URL", url: self)
    }
    var bytes: [UInt8] = []
    var encoded = path(percentEncoded: true).utf8[...]
    while let byte = encoded.popFirst() {
      if byte == UInt8(ascii: "%"), let value = UInt8(String(Substring(encoded.prefix(2))), radix: 16) {
        bytes.append(value)
        encoded = encoded.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    return bytes
  }
}

extension [UInt8] {
  /// What stands behind the last slash.
  var lastComponent: [UInt8] { lastIndex(of: UInt8(ascii: "/")).map { Array(self[($0 + 1)...]) } ?? self }
}
