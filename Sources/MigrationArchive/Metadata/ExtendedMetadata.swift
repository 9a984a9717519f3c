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
  package var leftBehind: [[UInt8]] = []

  package init() {}

  /// Reads the metadata of an open file or directory; for an item without any, one call suffices.
  ///
  /// Fails if it exceeds the limits of a record.
  package init(of descriptor: borrowing Descriptor) throws(SystemError) {
    var room = Limits.attributes
    for name in try descriptor.attributeNames().sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      if name.starts(with: "user.".utf8) {
        guard let value = try descriptor.attribute(name) else { continue }
        // A length takes at most four bytes, the name's length one.
        room -= name.count + value.count + 5
        guard room >= 0 else { throw Self.tooMuch("its extended attributes take more than 128 KiB") }
        attributes.append(ExtendedAttribute(name: name, value: value))
      } else if name == AccessListKind.access.attribute {
        accessList = try Self.accessList(.access, of: descriptor)
      } else if name == AccessListKind.default.attribute {
        defaultAccessList = try Self.accessList(.default, of: descriptor)
      } else {
        leftBehind.append(name)
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
  /// Adds the extended metadata of the item.
  mutating func add(_ extended: ExtendedMetadata) {
    attributes = extended.attributes
    accessList = extended.accessList
    defaultAccessList = extended.defaultAccessList
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
}
