import MigrationSystem
import MigrationWire

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

extension Descriptor {
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
