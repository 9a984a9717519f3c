/// The name of a user or group. A record has only the number (Protocol §8.2).
package struct OwnerName: Hashable, Sendable {
  package enum Kind: UInt8, Hashable, Sendable {
    case user = 1
    case group = 2
  }

  package let kind: Kind
  package let id: UInt32
  package let name: [UInt8]

  package init(_ kind: Kind, _ id: UInt32, _ name: [UInt8]) {
    self.kind = kind
    self.id = id
    self.name = name
  }

  /// The length of the name in a list.
  package var length: Int { 1 + 4 + ByteWriter.stringSize(name.count) }

  static func readList(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [OwnerName] {
    let subject = "an item's names of owners"
    guard reader.remaining <= Limits.ownerNames else { throw Violation(.limit, subject) }
    return try reader.list(
      of: subject, orNone: true, ascending: { $0.rank < $1.rank },
      reading: { reader throws(Violation) in
        guard let kind = Kind(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, subject) }
        let name = OwnerName(kind, try reader.u32(bytes), try reader.stringBytes(bytes))
        guard (1...Limits.name).contains(name.name.count), !name.name.contains(0) else {
          throw Violation(.value, subject)
        }
        return name
      })
  }

  static func write(_ list: [OwnerName], to writer: inout ByteWriter) {
    for name in list {
      writer.u8(name.kind.rawValue)
      writer.u32(name.id)
      writer.string(name.name)
    }
  }

  /// Its place in a list.
  private var rank: UInt64 { UInt64(kind.rawValue) << 32 | UInt64(id) }
}

extension ItemRecord {
  /// The users and groups of the owner and of the access lists, each once, in the order of their
  /// names. Number 0 has no name: it is the same everywhere.
  package var owners: [(kind: OwnerName.Kind, id: UInt32)] {
    var found: [OwnerName.Kind: Set<UInt32>] = [:]
    if let owner { (found[.user], found[.group]) = ([owner.user], [owner.group]) }
    for entry in accessList + defaultAccessList {
      if entry.subject == .user { found[.user, default: []].insert(entry.id) }
      if entry.subject == .group { found[.group, default: []].insert(entry.id) }
    }
    return [OwnerName.Kind.user, .group].flatMap { kind in
      (found[kind] ?? []).filter { $0 != 0 }.sorted().map { (kind: kind, id: $0) }
    }
  }
}
