import MigrationSystem
package import MigrationWire

/// The names of users and groups at the sender, each looked up once.
package final class OwnerNames: Sendable {
  private struct Key: Hashable, Sendable {
    let kind: OwnerName.Kind
    let id: UInt32
  }

  private let known = Mutex<[Key: [UInt8]?]>([:])

  package init() {}

  /// The names of a record's users and groups, as many as fit into it.
  func names(of record: ItemRecord) -> [OwnerName] {
    var room = Limits.ownerNames
    return record.owners.compactMap { kind, id in
      guard let name = name(of: id, kind) else { return nil }
      let named = OwnerName(kind, id, name)
      room -= named.length
      return room >= 0 ? named : nil
    }
  }

  private func name(of id: UInt32, _ kind: OwnerName.Kind) -> [UInt8]? {
    let key = Key(kind: kind, id: id)
    if let known = known.withLock({ $0[key] }) { return known }
    let found = kind == .user ? SystemAccounts.name(ofUser: id) : SystemAccounts.name(ofGroup: id)
    let name = found.flatMap { (1...255).contains($0.count) ? $0 : nil }
    known.withLock { $0[key] = .some(name) }
    return name
  }
}

/// The numbers that the receiver's user gives to users and groups of the sender.
package struct OwnerMap: Equatable, Sendable {
  /// A user or group of the sender.
  package enum Old: Hashable, Sendable {
    case name([UInt8])
    case number(UInt32)
  }

  private struct Key: Hashable, Sendable {
    let kind: OwnerName.Kind
    let old: Old
  }

  private var numbers: [Key: UInt32] = [:]

  package init() {}

  /// Gives a user or group of the sender a number here. False if it had a number already.
  package mutating func add(_ kind: OwnerName.Kind, _ old: Old, _ new: UInt32) -> Bool {
    numbers.updateValue(new, forKey: Key(kind: kind, old: old)) == nil
  }

  fileprivate func number(_ kind: OwnerName.Kind, _ old: Old) -> UInt32? { numbers[Key(kind: kind, old: old)] }
}

/// The numbers of the sender's users and groups at the receiver, each looked up once.
final class LocalOwners: Sendable {
  private let map: OwnerMap
  private let known = Mutex<[OwnerName: UInt32?]>([:])

  init(_ map: OwnerMap) { self.map = map }

  /// The number here of a user or group of the sender; `isKnown` is false if its name is unknown here.
  func number(_ kind: OwnerName.Kind, _ id: UInt32, in names: [OwnerName]) -> (number: UInt32, isKnown: Bool) {
    let named = names.first { $0.kind == kind && $0.id == id }
    if let number = named.flatMap({ map.number(kind, .name($0.name)) }) ?? map.number(kind, .number(id)) {
      return (number, true)
    }
    // Number 0 is the same user everywhere.
    guard let named, id != 0 else { return (id, true) }
    if let number = look(up: named) { return (number, true) }
    return (id, false)
  }

  private func look(up name: OwnerName) -> UInt32? {
    if let known = known.withLock({ $0[name] }) { return known }
    let number = name.kind == .user ? SystemAccounts.user(named: name.name) : SystemAccounts.group(named: name.name)
    known.withLock { $0[name] = .some(number) }
    return number
  }
}

extension LocalOwners {
  /// The owner that an item gets.
  func owner(of record: ItemRecord) -> ItemRecord.Owner? {
    record.owner.map {
      ItemRecord.Owner(
        user: number(.user, $0.user, in: record.names).number, group: number(.group, $0.group, in: record.names).number)
    }
  }

  /// An access list of an item with the numbers of this device, in the kernel's order. Of two entries
  /// that become one the first counts.
  func list(_ list: [AccessEntry], of record: ItemRecord) -> [AccessEntry] {
    let here = list.map { entry in
      guard let kind = entry.kind else { return entry }
      return AccessEntry(
        subject: entry.subject, permissions: entry.permissions, id: number(kind, entry.id, in: record.names).number)
    }
    guard here != list else { return list }
    var sorted: [AccessEntry] = []
    for entry in here.sorted(by: { ($0.subject.rawValue, $0.id) < ($1.subject.rawValue, $1.id) })
    where sorted.last.map({ ($0.subject, $0.id) != (entry.subject, entry.id) }) ?? true {
      sorted.append(entry)
    }
    return sorted
  }

  /// Whether each name of an item's users and groups is known.
  func knowsAll(of record: ItemRecord) -> Bool {
    record.names.allSatisfy { number($0.kind, $0.id, in: record.names).isKnown }
  }
}

extension AccessEntry {
  /// The kind of its number; nil without one.
  fileprivate var kind: OwnerName.Kind? {
    switch subject {
    case .user: .user
    case .group: .group
    case .owner, .groupOwner, .mask, .other: nil
    }
  }
}
