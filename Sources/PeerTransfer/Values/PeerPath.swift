import MigrationWire

/// A path on this device or inside a transfer: bytes, which need not be text.
///
/// A string literal is a path, and the text of any path can be one: `PeerPath(url.path)`.
public struct PeerPath: Hashable, Sendable, ExpressibleByStringLiteral {
  /// The bytes in the file system.
  public let bytes: [UInt8]

  /// A path in UTF-8.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// A path from the bytes in the file system.
  public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// The exact path as text; nil if it is not UTF-8.
  public var text: String? { String(validating: bytes, as: UTF8.self) }

  /// A path in UTF-8.
  public init(stringLiteral text: String) { self.init(text) }
}

extension PeerPath: CustomStringConvertible {
  /// The path in a form that is safe to show: the other device may have chosen its name, so
  /// characters that could mislead a reader or control a terminal are escaped. To build other
  /// paths, use `text` or `bytes`.
  public var description: String { VisibleText.of(bytes) }
}
