import MigrationWire

/// A path of this device, or within what is transferred: bytes, which need not be text.
///
/// A literal is one, and so is the text of any path: `PeerPath(url.path)`.
public struct PeerPath: Hashable, Sendable, ExpressibleByStringLiteral {
  /// As the file system has it.
  public let bytes: [UInt8]

  /// A path in UTF-8.
  public init(_ text: String) { bytes = Array(text.utf8) }

  /// A path as the file system has it.
  public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// The path as text, exactly; nil where it is none.
  public var text: String? { String(validating: bytes, as: UTF8.self) }

  /// A path in UTF-8.
  public init(stringLiteral text: String) { self.init(text) }
}

extension PeerPath: CustomStringConvertible {
  /// The path as it may be shown: the other device may have chosen its name, and what could mislead a reader or command a
  /// terminal is escaped. Other paths are made of `text` or `bytes`.
  public var description: String { VisibleText.of(bytes) }
}
