import FoundationEssentials
import MigrationCredentials
import MigrationSystem

/// The contents of an author's dictionary, with checked types.
struct ItemDictionary {
  /// The purpose of a dictionary.
  enum Role {
    case adding
    case copying
    /// The query of an update or a deletion.
    case choosing
    /// The changes of an update.
    case changing
  }

  /// The reason for refusing a dictionary: a key's name and its error, but never its value.
  struct Fault: Error {
    let text: String

    init(_ key: String, _ reason: String) { text = "\(ItemKey.name(key)) \(reason)" }
  }

  private(set) var kind: CredentialItem.Kind?
  private(set) var data: [UInt8]?
  private(set) var attributes: [CredentialItem.Attribute: CredentialItem.Value] = [:]
  private(set) var group: String?
  private(set) var created: Timestamp?
  private(set) var modified: Timestamp?
  private(set) var returning: CredentialAspects = []
  private(set) var limit: UInt32 = 1

  init(_ dictionary: CFDictionary, as role: Role) throws(Fault) {
    // The keys are in order, so that the same fault of several is reported each time.
    for (text, value) in dictionary.sorted(by: { $0.key < $1.key }) {
      guard let key = ItemKey(text) else { throw Fault(text, "is not known") }
      guard Self.allows(key, in: role) else { throw Fault(text, "is not allowed here") }
      // Authors often make queries from added items: the secret in a query is ignored.
      if key == .data, role == .copying || role == .choosing { continue }
      guard let value = ItemValue(value) else { throw Fault(text, "is nil") }
      try take(key, value, text, role)
    }
  }

  private static func allows(_ key: ItemKey, in role: Role) -> Bool {
    switch key {
    case .kind, .returnData, .returnAttributes: role != .changing
    case .limit: role == .copying
    case .data, .attribute, .group, .synchronizable, .created, .modified, .ignored: true
    }
  }

  private mutating func take(
    _ key: ItemKey, _ value: ItemValue, _ text: String, _ role: Role
  ) throws(Fault) {
    switch key {
    case .kind:
      switch value.text {
      case kSecClassGenericPassword: kind = .genericPassword
      case kSecClassKey: kind = .key
      default: throw Fault(text, "is neither kSecClassGenericPassword nor kSecClassKey")
      }
    case .data:
      guard let bytes = value.bytes else { throw Fault(text, "is not Data") }
      data = bytes
    case .attribute(let attribute): attributes[attribute] = try Self.value(of: attribute, value, text)
    case .group:
      guard let identifier = value.text else { throw Fault(text, "is not a String") }
      group = identifier
    case .synchronizable:
      let isQuery = role == .copying || role == .choosing
      guard value.flag == false || isQuery && value.text == kSecAttrSynchronizableAny else {
        throw Fault(text, "can only be false: items stay on this device")
      }
    case .created, .modified:
      guard let date = value.date else { throw Fault(text, "is not a Date") }
      // The store sets dates itself: adding a copied item does not set its dates.
      guard role == .copying || role == .choosing else { return }
      if key == .created { created = date } else { modified = date }
    case .returnData, .returnAttributes:
      guard let flag = value.flag else { throw Fault(text, "is not a Bool") }
      if flag { returning.insert(key == .returnData ? .data : .attributes) }
    case .limit:
      switch (value.text, value.number) {
      case (kSecMatchLimitOne?, _): limit = 1
      case (kSecMatchLimitAll?, _): limit = .max
      case (_, let number?) where number > 0: limit = UInt32(clamping: number)
      default: throw Fault(text, "is neither kSecMatchLimitOne, nor kSecMatchLimitAll, nor a number above 0")
      }
    case .ignored: break
    }
  }

  private static let accessibilities: Set = [
    kSecAttrAccessibleWhenUnlocked, kSecAttrAccessibleAfterFirstUnlock, kSecAttrAccessibleAlways,
    kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
    kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, kSecAttrAccessibleAlwaysThisDeviceOnly,
  ]

  private static func value(
    of attribute: CredentialItem.Attribute, _ value: ItemValue, _ text: String
  ) throws(Fault) -> CredentialItem.Value {
    switch attribute {
    case .label, .description, .comment, .keyType, .keyClass:
      guard let words = value.text else { throw Fault(text, "is not a String") }
      return .text(words)
    case .accessible:
      guard let words = value.text, accessibilities.contains(words) else {
        throw Fault(text, "is not one of the constants kSecAttrAccessible…")
      }
      return .text(words)
    case .account, .service, .generic, .applicationLabel, .applicationTag:
      // Helpers pass either type, and get the same type back.
      if let words = value.text { return .text(words) }
      guard let bytes = value.bytes else { throw Fault(text, "is neither a String nor Data") }
      return .data(bytes)
    case .keySize:
      guard let number = value.number else { throw Fault(text, "is not a whole number") }
      return .number(number)
    }
  }

  /// Returns the kind of item, which every dictionary has, except a dictionary of changes. Throws
  /// if the attributes do not belong to this kind.
  func requiredKind() throws(Fault) -> CredentialItem.Kind {
    guard let kind else { throw Fault(kSecClass, "is missing") }
    try check(kind)
    return kind
  }

  private func check(_ kind: CredentialItem.Kind) throws(Fault) {
    for attribute in CredentialItem.Attribute.allCases where attributes[attribute] != nil && !attribute.isOf(kind) {
      throw Fault(
        ItemKey.text(of: attribute),
        "is not an attribute of \(kind == .key ? "kSecClassKey" : "kSecClassGenericPassword")")
    }
  }

  func query() throws(Fault) -> CredentialQuery {
    CredentialQuery(try requiredKind(), attributes, group: group, created: created, modified: modified)
  }

  /// The changes of an update to items of this kind.
  func changes(of kind: CredentialItem.Kind) throws(Fault) -> CredentialChanges {
    try check(kind)
    return CredentialChanges(attributes, data: data, group: group)
  }

  /// The request to add the dictionary's item.
  func addition(returning: Bool) throws(Fault) -> CredentialRequest {
    let kind = try requiredKind()
    guard let data else { throw Fault(kSecValueData, "is missing") }
    // Apple's framework has this default for an item.
    let attributes = attributes.merging([.accessible: .text(kSecAttrAccessibleWhenUnlocked)]) { said, _ in said }
    return .add(kind, attributes, data: data, group: group, returning: returning ? self.returning : [])
  }
}
