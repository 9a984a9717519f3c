package import MigrationSystem
package import MigrationWire

/// The metadata of a file or directory in addition to its twelve mode bits, its owner and its times
/// (Protocol §8.2).
package struct ExtendedMetadata: Equatable, Sendable {
  /// The attributes of the user namespace, by ascending names.
  package var attributes: [ExtendedAttribute] = []
  package var accessList: [AccessEntry] = []
  /// The list that new items in a directory get.
  package var defaultAccessList: [AccessEntry] = []
  /// The names of the other attributes, which are never carried.
  package var lostAttributes: [[UInt8]] = []

  package init() {}

  /// Reads the metadata of an open file or directory; for an item without any, one call suffices.
  ///
  /// Fails if it exceeds the limits of a record.
  package init(of descriptor: borrowing Descriptor) throws(SystemError) {
    let names = try descriptor.attributeNames()
    if names.isEmpty { return }
    var room = Limits.attributes
    for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      if name.starts(with: "user.".utf8) {
        guard let value = try descriptor.attribute(name) else { continue }
        // The name's length takes at most two bytes, the value's four.
        room -= name.count + value.count + 6
        guard room >= 0 else { throw Self.tooMuch("its extended attributes take more than 128 KiB") }
        attributes.append(ExtendedAttribute(name: name, value: value))
      } else if name == AccessListKind.access.attribute {
        accessList = try Self.accessList(.access, of: descriptor)
      } else if name == AccessListKind.default.attribute {
        defaultAccessList = try Self.accessList(.default, of: descriptor)
      } else {
        lostAttributes.append(name)
      }
    }
  }

  /// Whether an attribute with that name is never carried.
  static func leavesBehind(_ name: [UInt8]) -> Bool {
    !name.starts(with: "user.".utf8) && name != AccessListKind.access.attribute
      && name != AccessListKind.default.attribute
  }

  private static func accessList(
    _ kind: AccessListKind, of descriptor: borrowing Descriptor
  ) throws(SystemError) -> [AccessEntry] {
    guard let value = try descriptor.attribute(kind.attribute) else { return [] }
    guard let list = [AccessEntry](attribute: value) else {
      throw tooMuch("its access control list has an unknown format")
    }
    guard list.count <= Limits.aclEntries else {
      throw tooMuch("its access control list has more than \(Limits.aclEntries) entries")
    }
    return list
  }

  private static func tooMuch(_ reason: String) -> SystemError { SystemError(reason: reason, operation: "read") }
}

extension ItemRecord {
  /// Adds the extended metadata of the item, and the names of its owners where they are sent.
  mutating func add(_ extended: ExtendedMetadata, naming owners: OwnerNames? = nil) {
    attributes = extended.attributes
    accessList = extended.accessList
    defaultAccessList = extended.defaultAccessList
    names = owners?.names(of: self) ?? []
  }

  /// Whether the record has metadata that the creating call and the twelve mode bits do not set.
  var isExtended: Bool { !attributes.isEmpty || !accessList.isEmpty || !defaultAccessList.isEmpty || owner != nil }
}

extension Descriptor {
  /// Removes everything that `ExtendedMetadata` would find.
  func clearExtendedMetadata() throws(SystemError) {
    let lists = [AccessListKind.access.attribute, AccessListKind.default.attribute]
    for name in try attributeNames() where name.starts(with: "user.".utf8) || lists.contains(name) {
      try removeAttribute(name)
    }
  }

  /// Sets an access control list. Fails if the file system accepts it and does not keep it.
  func setAccessList(_ list: [AccessEntry], _ kind: AccessListKind) throws(SystemError) {
    try setAttribute(kind.attribute, list.attribute)
    // An access list of the three classes alone is the mode.
    guard list.count > 3 || kind == .default else { return }
    guard let kept = try attribute(kind.attribute), [AccessEntry](attribute: kept)?.count == list.count else {
      throw SystemError(reason: "the file system does not keep it", operation: "set an access control list")
    }
  }
}

/// The kind of a directory's access control list; files have only the first kind.
package enum AccessListKind: Sendable {
  case access
  case `default`

  /// The attribute through which the kernel reads and sets the list.
  var attribute: [UInt8] {
    switch self {
    case .access: Array("system.posix_acl_access".utf8)
    case .default: Array("system.posix_acl_default".utf8)
    }
  }
}

/// The kernel's format of a list: a version, then the entries, all little-endian.
extension [AccessEntry] {
  private static let version: UInt32 = 2
  /// The value for a subject without a number.
  private static let noNumber = UInt32.max

  /// Reads the kernel's format; nil if the value has another format.
  init?(attribute value: [UInt8]) {
    guard value.count >= 4, value.count % 8 == 4, Self.number(value[0..<4]) == Self.version else { return nil }
    self = []
    for start in stride(from: 4, to: value.count, by: 8) {
      let permissions = Self.number(value[start + 2..<start + 4])
      guard let subject = AccessEntry.Subject(kernel: Self.number(value[start..<start + 2])), permissions <= 7 else {
        return nil
      }
      let id = subject == .user || subject == .group ? Self.number(value[start + 4..<start + 8]) : 0
      append(AccessEntry(subject: subject, permissions: UInt8(permissions), id: id))
    }
  }

  /// The list in the kernel's format.
  var attribute: [UInt8] {
    var value = Self.bytes(Self.version, 4)
    for entry in self {
      value += Self.bytes(entry.subject.kernel, 2) + Self.bytes(UInt32(entry.permissions), 2)
      value += Self.bytes(entry.subject == .user || entry.subject == .group ? entry.id : Self.noNumber, 4)
    }
    return value
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func bytes(_ number: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
  }
}

extension AccessEntry.Subject {
  fileprivate init?(kernel tag: UInt32) {
    switch tag {
    case 0x01: self = .owner
    case 0x02: self = .user
    case 0x04: self = .groupOwner
    case 0x08: self = .group
    case 0x10: self = .mask
    case 0x20: self = .other
    default: return nil
    }
  }

  fileprivate var kernel: UInt32 {
    switch self {
    case .owner: 0x01
    case .user: 0x02
    case .groupOwner: 0x04
    case .group: 0x08
    case .mask: 0x10
    case .other: 0x20
    }
  }
}

/// The metadata that is preserved only if the receiver's user asks for it (Protocol §8.2).
package struct Preserved: Equatable, Sendable {
  /// Owners and groups, by their names or else by their numbers.
  package var owners: Bool
  /// The owners that the user has mapped.
  package var map = OwnerMap()
  /// Set-user-id and set-group-id bits.
  package var setIDBits: Bool

  package init(owners: Bool = false, setIDBits: Bool = false, map: OwnerMap = OwnerMap()) {
    self.owners = owners
    self.map = map
    self.setIDBits = setIDBits
  }
}
