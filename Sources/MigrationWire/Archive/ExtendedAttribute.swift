/// One extended attribute of the user namespace; the name includes its prefix.
package struct ExtendedAttribute: Equatable, Sendable {
  package let name: [UInt8]
  package let value: [UInt8]

  package init(name: [UInt8], value: [UInt8]) {
    self.name = name
    self.value = value
  }

  static func readList(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [ExtendedAttribute] {
    let subject = "an item's extended attributes"
    guard reader.remaining <= Limits.attributes else { throw Violation(.limit, subject) }
    var list: [ExtendedAttribute] = []
    while !reader.isAtEnd {
      let name = try reader.array(bytes, Int(try reader.u8(bytes)))
      let length = try reader.varint(bytes)
      guard length <= UInt64(reader.remaining) else { throw Violation(.truncated, subject) }
      let value = try reader.array(bytes, Int(length))
      guard name.starts(with: "user.".utf8), name.count > 5, !name.contains(0),
        list.last.map({ $0.name.lexicographicallyPrecedes(name) }) ?? true
      else { throw Violation(.value, subject) }
      list.append(ExtendedAttribute(name: name, value: value))
    }
    return list
  }

  static func write(_ list: [ExtendedAttribute], to writer: inout ByteWriter) {
    for attribute in list {
      writer.u8(UInt8(attribute.name.count))
      writer.array(attribute.name)
      writer.varint(UInt64(attribute.value.count))
      writer.array(attribute.value)
    }
  }
}

/// One entry of a POSIX access control list.
package struct AccessEntry: Equatable, Sendable {
  /// Whom the entry is about; the numbers are those of Protocol §8.2.
  package enum Subject: UInt8, Sendable {
    case owner = 1
    case user = 2
    case groupOwner = 3
    case group = 4
    case mask = 5
    case other = 6
  }

  package let subject: Subject
  /// Read, write, execute as the bits 4, 2, 1.
  package let permissions: UInt8
  /// The user or group; 0 for the other subjects.
  package let id: UInt32

  package init(subject: Subject, permissions: UInt8, id: UInt32) {
    self.subject = subject
    self.permissions = permissions
    self.id = id
  }

  /// The length of an entry on the wire.
  static let size = 6

  static func readList(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [AccessEntry] {
    let what = "an item's access control list"
    guard reader.remaining <= Limits.aclEntries * size else { throw Violation(.limit, what) }
    var list: [AccessEntry] = []
    while !reader.isAtEnd {
      guard let subject = Subject(rawValue: try reader.u8(bytes)) else { throw Violation(.unknown, what) }
      let entry = AccessEntry(subject: subject, permissions: try reader.u8(bytes), id: try reader.u32(bytes))
      guard entry.permissions <= 7, entry.id == 0 || subject == .user || subject == .group else {
        throw Violation(.value, what)
      }
      list.append(entry)
    }
    return list
  }

  static func write(_ list: [AccessEntry], to writer: inout ByteWriter) {
    for entry in list {
      writer.u8(entry.subject.rawValue)
      writer.u8(entry.permissions)
      writer.u32(entry.id)
    }
  }
}
