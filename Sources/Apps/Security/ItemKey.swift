import FoundationEssentials
import MigrationCredentials
import MigrationSystem

/// A known key of a dictionary.
enum ItemKey: Equatable {
  case kind
  case data
  case attribute(CredentialItem.Attribute)
  case group
  case synchronizable
  case created
  case modified
  case returnData
  case returnAttributes
  case limit
  /// Accepted, without an effect.
  case ignored

  private struct Entry {
    let text: String
    /// The constant's name in the author's source.
    let name: String
    let key: ItemKey
  }

  private static let all: [Entry] = [
    Entry(text: kSecClass, name: "kSecClass", key: .kind),
    Entry(text: kSecValueData, name: "kSecValueData", key: .data),
    Entry(text: kSecAttrLabel, name: "kSecAttrLabel", key: .attribute(.label)),
    Entry(text: kSecAttrDescription, name: "kSecAttrDescription", key: .attribute(.description)),
    Entry(text: kSecAttrComment, name: "kSecAttrComment", key: .attribute(.comment)),
    Entry(text: kSecAttrAccessible, name: "kSecAttrAccessible", key: .attribute(.accessible)),
    Entry(text: kSecAttrAccount, name: "kSecAttrAccount", key: .attribute(.account)),
    Entry(text: kSecAttrService, name: "kSecAttrService", key: .attribute(.service)),
    Entry(text: kSecAttrGeneric, name: "kSecAttrGeneric", key: .attribute(.generic)),
    Entry(text: kSecAttrApplicationLabel, name: "kSecAttrApplicationLabel", key: .attribute(.applicationLabel)),
    Entry(text: kSecAttrApplicationTag, name: "kSecAttrApplicationTag", key: .attribute(.applicationTag)),
    Entry(text: kSecAttrKeyType, name: "kSecAttrKeyType", key: .attribute(.keyType)),
    Entry(text: kSecAttrKeyClass, name: "kSecAttrKeyClass", key: .attribute(.keyClass)),
    Entry(text: kSecAttrKeySizeInBits, name: "kSecAttrKeySizeInBits", key: .attribute(.keySize)),
    Entry(text: kSecAttrAccessGroup, name: "kSecAttrAccessGroup", key: .group),
    Entry(text: kSecAttrSynchronizable, name: "kSecAttrSynchronizable", key: .synchronizable),
    Entry(text: kSecAttrCreationDate, name: "kSecAttrCreationDate", key: .created),
    Entry(text: kSecAttrModificationDate, name: "kSecAttrModificationDate", key: .modified),
    Entry(text: kSecReturnData, name: "kSecReturnData", key: .returnData),
    Entry(text: kSecReturnAttributes, name: "kSecReturnAttributes", key: .returnAttributes),
    Entry(text: kSecMatchLimit, name: "kSecMatchLimit", key: .limit),
    Entry(text: kSecUseDataProtectionKeychain, name: "kSecUseDataProtectionKeychain", key: .ignored),
  ]

  private static let byText = Dictionary(uniqueKeysWithValues: all.map { ($0.text, $0) })

  /// Nil for an unknown key.
  init?(_ text: String) {
    guard let entry = Self.byText[text] else { return nil }
    self = entry.key
  }

  /// The name of a key in a message.
  static func name(_ text: String) -> String {
    byText[text]?.name ?? "the key \"\(EscapedText.describing(text.utf8.prefix(80)))\""
  }

  /// The text of an attribute's key. The table has each attribute; a test checks that.
  static func text(of attribute: CredentialItem.Attribute) -> String {
    all.first { $0.key == .attribute(attribute) }!.text
  }
}

/// A value of an author's dictionary, of Swift's or Foundation's types, possibly in an optional.
struct ItemValue {
  private let value: Any

  /// Nil for a nil optional.
  init?(_ value: Any) {
    var value = value
    while case let mirror = Mirror(reflecting: value), mirror.displayStyle == .optional {
      guard let child = mirror.children.first else { return nil }
      value = child.value
    }
    self.value = value
  }

  var text: String? { value as? String }
  var bytes: [UInt8]? { (value as? Data).map { Array($0) } }
  var number: Int64? { value as? Int64 ?? (value as? Int).map(Int64.init) }
  var flag: Bool? { value as? Bool }
  var date: Timestamp? { (value as? Date).flatMap { Timestamp(wholeMilliseconds: $0) } }
}

extension Timestamp {
  /// The stored time for a date that the author has read from an item; nil for a date that no item
  /// can have.
  fileprivate init?(wholeMilliseconds date: Date) {
    guard let count = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else { return nil }
    let seconds = (Double(count) / 1000).rounded(.down)
    self.init(
      seconds: Int64(seconds), nanoseconds: UInt32(clamping: count - Int64(seconds) * 1000) * 1_000_000)
  }
}

extension CredentialConnection.Answer {
  /// The result of a call: one item, or an array if the query asked for more than one; nil if it
  /// asked for none.
  func result(_ aspects: CredentialAspects, isArray: Bool) -> CFTypeRef? {
    guard !aspects.isEmpty, status == .success else { return nil }
    let values = items.map { $0.value(aspects) }
    return isArray ? values as CFTypeRef : values.first.map { $0 as CFTypeRef }
  }
}

extension CredentialConnection.Answer.Item {
  /// The item's data, or a dictionary.
  fileprivate func value(_ aspects: CredentialAspects) -> Any {
    guard aspects.contains(.attributes) else { return Data(item.data) }
    var dictionary: CFDictionary = [
      kSecClass: item.kind == .key ? kSecClassKey : kSecClassGenericPassword, kSecAttrAccessGroup: group,
      kSecAttrSynchronizable: false, kSecAttrCreationDate: Date(item.created),
      kSecAttrModificationDate: Date(item.modified),
    ]
    for (attribute, value) in item.attributes {
      dictionary[ItemKey.text(of: attribute)] =
        switch value {
        case .text(let text): text
        case .data(let bytes): Data(bytes)
        case .number(let number): Int(number)
        }
    }
    if aspects.contains(.data) { dictionary[kSecValueData] = Data(item.data) }
    return dictionary
  }
}

extension Date {
  fileprivate init(_ time: Timestamp) {
    self.init(timeIntervalSince1970: Double(time.seconds) + Double(time.nanoseconds) / 1e9)
  }
}
