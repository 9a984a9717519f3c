/// The reason for which a destination cannot hold an item, even with free space (Protocol §6.6).
package enum RefusalReason: UInt8, Sendable, CaseIterable {
  case nameNotAllowed = 1
  case nameTooLong = 2
  /// The destination takes the name for that of another item.
  case nameTaken = 3
  case kindNotSupported = 4
  case tooLarge = 5
  case targetTooLong = 6
  /// The directory that it is in is not stored.
  case directoryNotStored = 7
  /// The target of a hard link is not stored.
  case targetNotStored = 8
  case other = 9
}

/// Protocol §6.6: the destination cannot hold an item in one generation, and the transfer
/// continues.
package struct Refusal: Equatable, Sendable {
  package let path: ArchivePath
  package let generation: Generation
  package let reason: RefusalReason
  /// The receiver's system's own words, a clause.
  package let message: String?
  private let unknown: Fields

  package init(path: ArchivePath, generation: Generation, reason: RefusalReason, message: String? = nil) {
    self.path = path
    self.generation = generation
    self.reason = reason
    self.message = message.flatMap { $0.utf8.count <= Limits.message ? $0 : nil }
    unknown = Fields()
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "an item that is not stored"
    let fields = try Fields(bytes, range, of: subject)
    path = try ArchivePath(try fields.required(1, subject))
    generation = try fields.readRequired(2, subject) { reader, bytes throws(Violation) in try reader.u128(bytes) }
    reason = try fields.readRequired(3, subject, RefusalReason.read)
    message = try fields.optionalText(4, limit: Limits.message, subject)
    unknown = fields.unknown(besides: 1...4)
  }

  /// How many bytes it counts among those of a session (Protocol §11).
  package var size: Int { path.bytes.count + (message?.utf8.count ?? 0) + unknown.size }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1, path.bytes)
    fields.append(2) { $0.u128(generation) }
    fields.append(3, [reason.rawValue])
    if let message { fields.append(4, Array(message.utf8)) }
    fields.merge(unknown)
    fields.write(to: &writer)
  }
}

extension RefusalReason {
  /// Reads the whole value of a field.
  static func read(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> RefusalReason {
    guard let reason = RefusalReason(rawValue: try reader.u8(bytes)) else {
      throw Violation(.unknown, "a reason for not storing an item")
    }
    return reason
  }
}

extension RefusalReason {
  /// The reason as a clause.
  package var words: String {
    switch self {
    case .nameNotAllowed: "the destination does not allow such a name"
    case .nameTooLong: "the name is too long for the destination"
    case .nameTaken: "the destination takes the name for that of another item"
    case .kindNotSupported: "the destination has nothing of this kind"
    case .tooLarge: "the file is too large for the destination"
    case .targetTooLong: "the link's target is too long for the destination"
    case .directoryNotStored: "its folder is not stored"
    case .targetNotStored: "the file that it is another name of is not stored"
    case .other: "the destination cannot hold it"
    }
  }
}
