extension URL {
  /// The path's bytes for the kernel, without slashes at the end.
  ///
  /// Foundation's own conversion returns nothing for names that are not UTF-8, and leaves the other
  /// names unchanged. This conversion only undoes the percent encoding.
  func fileSystemBytes() throws(CocoaError) -> [UInt8] {
    guard isFileURL else {
      throw CocoaError(.fileReadUnsupportedScheme, "\"\(absoluteString)\" is not a file URL", url: self)
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
  /// The name after the last slash.
  var lastComponent: [UInt8] { lastIndex(of: UInt8(ascii: "/")).map { Array(self[($0 + 1)...]) } ?? self }
}
