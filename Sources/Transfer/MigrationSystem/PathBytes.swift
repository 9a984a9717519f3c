import Glibc

/// Bytes that name an item in the file system: any bytes except NUL, in no particular encoding.
///
/// Arrays, slices and spans of bytes are passed unchanged; a string is passed as its UTF-8.
package protocol PathBytes: ~Escapable {
  /// Lends the bytes.
  func withPathBytes<Result: ~Copyable>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result
}

extension [UInt8]: PathBytes {
  package func withPathBytes<Result: ~Copyable>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try unsafe span.withUnsafeBufferPointer(body)
  }
}

extension ArraySlice<UInt8>: PathBytes {
  package func withPathBytes<Result: ~Copyable>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try unsafe span.withUnsafeBufferPointer(body)
  }
}

extension Span<UInt8>: PathBytes {
  package func withPathBytes<Result: ~Copyable>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try unsafe withUnsafeBufferPointer(body)
  }
}

extension String: PathBytes {
  package func withPathBytes<Result: ~Copyable>(
    _ body: (UnsafeBufferPointer<UInt8>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try unsafe utf8.span.withUnsafeBufferPointer(body)
  }
}

extension PathBytes where Self: ~Escapable {
  /// Lends a writable, NUL-terminated copy (the terminator is not counted), on the stack if it is
  /// short.
  ///
  /// Refuses a NUL among the bytes: the kernel would see another, shorter name.
  package func withCString<Result: ~Copyable>(
    for operation: String, _ body: (UnsafeMutableBufferPointer<CChar>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try unsafe withPathBytes { (bytes: UnsafeBufferPointer<UInt8>) throws(SystemError) -> Result in
      if unsafe bytes.contains(0) {
        throw unsafe SystemError(errno: EINVAL, operation: operation, subject: EscapedText.describing(bytes))
      }
      return try unsafe withStackMemory(byteCount: bytes.count + 1) { (buffer) throws(SystemError) -> Result in
        let text = unsafe buffer.bindMemory(to: CChar.self).baseAddress!
        if let source = bytes.baseAddress { unsafe memcpy(text, source, bytes.count) }
        unsafe text[bytes.count] = 0
        return try unsafe body(UnsafeMutableBufferPointer(start: text, count: bytes.count))
      }
    }
  }

  /// Makes a call on a path, unchanged.
  @discardableResult
  func callingPath<Result: FixedWidthInteger & SignedInteger>(
    _ operation: String, _ body: (UnsafePointer<CChar>) -> Result
  ) throws(SystemError) -> Result {
    try unsafe withCString(for: operation) { (text) throws(SystemError) -> Result in
      let pointer = unsafe UnsafePointer(text.baseAddress!)
      return try calling(operation, escapedText) { unsafe body(pointer) }
    }
  }

  /// Makes a call on a single name; refuses a name that would lead out of its directory.
  @discardableResult
  func callingName<Result: FixedWidthInteger & SignedInteger>(
    _ operation: String, _ body: (UnsafePointer<CChar>) -> Result
  ) throws(SystemError) -> Result {
    try unsafe withCheckedName(for: operation) { (name) throws(SystemError) -> Result in
      try calling(operation, escapedText) { unsafe body(name) }
    }
  }

  /// Lends a name, with the checks of `callingName`, to a call that takes two names.
  @discardableResult
  func withCheckedName<Result>(
    for operation: String, _ body: (UnsafePointer<CChar>) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try unsafe withCString(for: operation) { (text) throws(SystemError) -> Result in
      guard unsafe PathShape.isName(text[...]) else {
        throw SystemError(errno: EINVAL, operation: operation, subject: escapedText)
      }
      return try unsafe body(UnsafePointer(text.baseAddress!))
    }
  }

  /// The bytes, escaped for display.
  package var escapedText: String {
    let text = try? unsafe withPathBytes { (bytes) throws(SystemError) in unsafe EscapedText.describing(bytes) }
    return text ?? ""
  }
}

/// The required form of names and relative paths.
enum PathShape {
  static let separator = CChar(bitPattern: UInt8(ascii: "/"))
  private static let dot = CChar(bitPattern: UInt8(ascii: "."))

  /// Whether this is one component that names an item inside its directory.
  static func isName(_ text: Slice<UnsafeMutableBufferPointer<CChar>>) -> Bool {
    unsafe isComponent(text) && !text.contains(separator)
  }

  /// Whether this is a chain of such components: relative, without empty components, "." and "..".
  static func isRelative(_ text: UnsafeMutableBufferPointer<CChar>) -> Bool {
    var start = 0
    for index in 0...text.count where unsafe index == text.count || text[index] == separator {
      if unsafe !isComponent(text[start..<index]) { return false }
      start = index + 1
    }
    return true
  }

  private static func isComponent(_ text: Slice<UnsafeMutableBufferPointer<CChar>>) -> Bool {
    switch unsafe text.count {
    case 0: false
    case 1: unsafe text[text.startIndex] != dot
    case 2: unsafe text[text.startIndex] != dot || text[text.startIndex + 1] != dot
    default: true
    }
  }
}

/// Converts bytes from the file system or from another device for display on one line of a
/// terminal.
package enum EscapedText {
  /// Printable UTF-8 is kept. Control characters, bytes that are not UTF-8, characters that reorder
  /// or hide text, and the backslash itself become escapes, so that different bytes never look the
  /// same.
  package static func describing(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    var parser = Unicode.UTF8.ForwardParser()
    let bytes = Array(bytes)
    var input = bytes.makeIterator()
    var position = 0
    while true {
      switch parser.parseScalar(from: &input) {
      case .valid(let encoded):
        append(Unicode.UTF8.decode(encoded), to: &text)
        position += encoded.count
      case .error(let length):
        for byte in bytes[position..<position + length] { text += hexadecimal(byte) }
        position += length
      case .emptyInput:
        return text
      }
    }
  }

  private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
    switch scalar {
    case "\n": text += "\\n"
    case "\t": text += "\\t"
    case "\r": text += "\\r"
    case "\\": text += "\\\\"
    case _ where scalar.isASCII && !(32..<127).contains(scalar.value): text += hexadecimal(UInt8(scalar.value))
    case _ where isInvisible(scalar): text += "\\u{\(String(scalar.value, radix: 16))}"
    default: text.unicodeScalars.append(scalar)
    }
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return "\\x" + (digits.count == 1 ? "0" : "") + digits
  }
}
