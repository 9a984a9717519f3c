package import MigrationSystem
package import MigrationWire

/// A secret, and its attributes.
package struct CredentialItem: Equatable, Sendable {
  /// The kind of the secret.
  package enum Kind: UInt8, Sendable {
    case genericPassword = 1
    case key = 2
  }

  /// The attributes that an author can set. The store sets the dates.
  package enum Attribute: UInt8, CaseIterable, Sendable {
    case account = 1
    case service = 2
    case label = 3
    case description = 4
    case comment = 5
    case generic = 6
    case accessible = 7
    case applicationLabel = 8
    case applicationTag = 9
    case keyType = 10
    case keyClass = 11
    case keySize = 12
  }

  /// The value of an attribute.
  package enum Value: Hashable, Sendable {
    case text(String)
    case data([UInt8])
    case number(Int64)
  }

  package var kind: Kind
  package var attributes: [Attribute: Value]
  /// The secret itself.
  package var data: [UInt8]
  package var created: Timestamp
  package var modified: Timestamp

  package init(
    _ kind: Kind, _ attributes: [Attribute: Value], data: [UInt8], created: Timestamp, modified: Timestamp
  ) {
    self.kind = kind
    self.attributes = attributes
    self.data = data
    self.created = created
    self.modified = modified
  }

  /// The identity of an item, unique for each owner. A label is not a part of it.
  struct Identity: Hashable {
    let kind: Kind
    let values: [Value]
  }

  /// A password's account and service; a key's application label, or the tag of a key without this
  /// label.
  var identity: Identity {
    switch kind {
    case .genericPassword: Identity(kind: kind, values: [self[.account], self[.service]])
    case .key:
      Identity(
        kind: kind,
        values: self[.applicationLabel] == .absent ? [.absent, self[.applicationTag]] : [self[.applicationLabel]])
    }
  }

  /// An attribute's value; a missing value is an empty text.
  subscript(attribute: Attribute) -> Value { attributes[attribute] ?? .absent }

  /// Whether the item is small enough to be stored.
  var isWithinLimits: Bool {
    data.count <= CredentialLimits.data && attributes.encoded.count <= CredentialLimits.attributes
  }
}

extension CredentialItem.Value {
  static let absent = CredentialItem.Value.text("")

  fileprivate enum Form: UInt8 {
    case text = 1
    case data = 2
    case number = 3
  }

  fileprivate var type: Form {
    switch self {
    case .text: .text
    case .data: .data
    case .number: .number
    }
  }

  fileprivate init(
    _ reader: inout ByteReader, _ bytes: Span<UInt8>, _ subject: String
  ) throws(Violation) {
    switch Form(rawValue: try reader.u8(bytes)) {
    case .text:
      guard let text = String(validating: try reader.stringBytes(bytes), as: UTF8.self) else {
        throw Violation(.value, subject)
      }
      self = .text(text)
    case .data: self = .data(try reader.stringBytes(bytes))
    case .number: self = .number(Int64(bitPattern: try reader.u64(bytes)))
    case nil: throw Violation(.unknown, subject)
    }
  }
}

extension CredentialItem.Attribute {
  /// Whether items of this kind have the attribute.
  package func isOf(_ kind: CredentialItem.Kind) -> Bool {
    switch self {
    case .account, .service, .generic: kind == .genericPassword
    case .applicationLabel, .applicationTag, .keyType, .keyClass, .keySize: kind == .key
    case .label, .description, .comment, .accessible: true
    }
  }
}

/// Items, and the parts of requests, as bytes. Each has one encoding, and unknown fields are
/// refused.
extension CredentialItem {
  private static var subject: String { "an item" }

  /// The whole item, in its stored and sent form.
  package var encoded: [UInt8] {
    var fields = Fields()
    fields.append(1, [kind.rawValue])
    fields.append(2, attributes.encoded)
    fields.append(3, data)
    fields.append(4) { $0.timestamp(created) }
    fields.append(5) { $0.timestamp(modified) }
    return fields.bytes
  }

  package init(_ bytes: [UInt8]) throws(Violation) {
    let fields = try Fields(bytes.span, 0..<bytes.count, of: Self.subject)
    try fields.refuseUnknown(besides: 1...5, Self.subject)
    let kind = try fields.kind(1, Self.subject)
    // Both are there even if they are empty.
    _ = try fields.required(2, Self.subject)
    _ = try fields.required(3, Self.subject)
    guard let created = try fields.timestamp(4, Self.subject), let modified = try fields.timestamp(5, Self.subject)
    else { throw Violation(.field, Self.subject) }
    self.init(
      kind, try fields.attributes(2, of: kind, Self.subject), data: try fields.secret(3, Self.subject) ?? [],
      created: created, modified: modified)
  }
}

extension [CredentialItem.Attribute: CredentialItem.Value] {
  /// For each attribute, in order: its number, its value's type and length, and the value.
  var encoded: [UInt8] {
    var writer = ByteWriter()
    for (attribute, value) in sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      writer.u8(attribute.rawValue)
      writer.u8(value.type.rawValue)
      switch value {
      case .text(let text): writer.string(Array(text.utf8))
      case .data(let bytes): writer.string(bytes)
      case .number(let number): writer.u64(UInt64(bitPattern: number))
      }
    }
    return writer.bytes
  }
}

extension Fields {
  func kind(_ tag: UInt8, _ subject: String) throws(Violation) -> CredentialItem.Kind {
    guard let kind = CredentialItem.Kind(rawValue: try requiredNumber(tag, subject)) else {
      throw Violation(.unknown, subject)
    }
    return kind
  }

  /// The attributes of items of this kind; none if the field is absent.
  func attributes(
    _ tag: UInt8, of kind: CredentialItem.Kind, _ subject: String
  ) throws(Violation) -> [CredentialItem.Attribute: CredentialItem.Value] {
    guard (value(tag)?.count ?? 0) <= CredentialLimits.attributes else { throw Violation(.limit, subject) }
    let found = try read(tag, subject) { reader, bytes throws(Violation) in
      var found: [CredentialItem.Attribute: CredentialItem.Value] = [:]
      var last: UInt8 = 0
      while !reader.isAtEnd {
        let number = try reader.u8(bytes)
        guard let attribute = CredentialItem.Attribute(rawValue: number), attribute.isOf(kind) else {
          throw Violation(.unknown, subject)
        }
        guard number > last else { throw Violation(.field, subject) }
        last = number
        found[attribute] = try CredentialItem.Value(&reader, bytes, subject)
      }
      return found
    }
    return found ?? [:]
  }

  /// The same of a request, which leaves the field out rather than empty.
  func requestedAttributes(
    _ tag: UInt8, of kind: CredentialItem.Kind, _ subject: String
  ) throws(Violation) -> [CredentialItem.Attribute: CredentialItem.Value] {
    guard value(tag)?.isEmpty != true else { throw Violation(.value, subject) }
    return try attributes(tag, of: kind, subject)
  }

  func secret(_ tag: UInt8, _ subject: String) throws(Violation) -> [UInt8]? {
    guard (value(tag)?.count ?? 0) <= CredentialLimits.data else { throw Violation(.limit, subject) }
    return value(tag)
  }

  func timestamp(_ tag: UInt8, _ subject: String) throws(Violation) -> Timestamp? {
    try read(tag, subject) { reader, bytes throws(Violation) in
      let time = Timestamp(seconds: Int64(bitPattern: try reader.u64(bytes)), nanoseconds: try reader.u32(bytes))
      guard time.nanoseconds < 1_000_000_000 else { throw Violation(.value, subject) }
      return time
    }
  }
}

extension ByteWriter {
  mutating func timestamp(_ time: Timestamp) {
    u64(UInt64(bitPattern: time.seconds))
    u32(time.nanoseconds)
  }
}

/// The program that stored an item: an app, or the clip of an app. A clip that names another app is
/// another owner.
package struct CredentialOwner: Hashable, Sendable {
  /// The app's identifier; for a clip, the identifier of its app.
  package let app: String
  /// The rest of the clip's identifier, after its app's identifier and a dot; nil for the app
  /// itself.
  package let suffix: String?

  /// Makes the owner of an app's items.
  package init(app: String) {
    self.app = app
    suffix = nil
  }

  /// Makes the owner of a clip's items; nil unless the clip's identifier is the app's, a dot, and
  /// more.
  package init?(clip: String, of app: String) {
    let beginning = "\(app)."
    guard clip.hasPrefix(beginning), clip.utf8.count > beginning.utf8.count else { return nil }
    self.app = app
    suffix = String(clip.dropFirst(beginning.count))
  }

  /// The program's identifier.
  package var identifier: String { suffix.map { "\(app).\($0)" } ?? app }

  /// A text that is unique for each owner, and that can be the name of a directory: no identifier
  /// has an @.
  package var name: String { suffix.map { "\(app)@\($0)" } ?? app }

  /// Makes the owner with this name; nil if the text is not an owner's name.
  package init?(name: String) {
    let parts = name.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.allSatisfy({ !$0.isEmpty && !$0.contains("@") }) else { return nil }
    app = parts[0]
    suffix = parts.count == 2 ? parts[1] : nil
  }
}
