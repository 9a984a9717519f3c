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
