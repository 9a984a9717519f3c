/// A breach of the protocol by the other end, or bytes that are no valid encoding.
package struct Violation: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of a breach. Later versions may add kinds.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The bytes end in the middle of something.
    package static let truncated = Code(rawValue: 1)
    /// Bytes are left over after the last field.
    package static let trailing = Code(rawValue: 2)
    /// A length or count exceeds its limit.
    package static let limit = Code(rawValue: 3)
    /// A value lies outside its stated range, or is not encoded in the one valid way.
    package static let value = Code(rawValue: 4)
    /// A required field is missing, or a field stands where it may not.
    package static let field = Code(rawValue: 5)
    /// A type, kind or encoding that this version does not have.
    package static let unknown = Code(rawValue: 6)
    /// A valid message that may not be sent now.
    package static let state = Code(rawValue: 7)
    /// A path that breaks the rules of Protocol §8.1.
    package static let path = Code(rawValue: 8)
    /// Two statements that contradict each other.
    package static let conflict = Code(rawValue: 9)
    /// A check does not fit the bytes and their place.
    package static let check = Code(rawValue: 10)
    /// More roots, items or bytes than were announced.
    package static let announcement = Code(rawValue: 11)
  }

  package let code: Code
  /// The object of the read or the action, a lower-case phrase such as "the offer's roots".
  package let subject: String
  /// The difference, with both values, of a comparison. Text from the other end is escaped in it.
  package let detail: String?

  package init(_ code: Code, _ subject: String, _ detail: String? = nil) {
    self.code = code
    self.subject = subject
    self.detail = detail
  }

  package var description: String {
    let what =
      switch code {
      case .truncated: "ends too early"
      case .trailing: "has bytes left over"
      case .limit: "exceeds its limit"
      case .value: "has a value that is not allowed"
      case .field: "has a missing or misplaced field"
      case .unknown: "has an unknown type"
      case .state: "came at the wrong time"
      case .path: "is not a valid path"
      case .conflict: "contradicts an earlier statement"
      case .check: "does not fit its check"
      case .announcement: "is more than was announced"
      default: "breaks the protocol"
      }
    return "the other device broke the protocol: \(subject) \(what)" + (detail.map { ": \($0)" } ?? "")
  }
}
