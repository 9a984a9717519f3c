import FoundationEssentials
import MigrationCredentials
import MigrationSystem

extension CredentialAnswer {
  /// The result of a call: one item, or an array if the query asked for more than one; nil if it
  /// asked for none.
  func result(_ aspects: CredentialAspects, isArray: Bool) -> CFTypeRef? {
    guard !aspects.isEmpty, status == .success else { return nil }
    let values = items.map { $0.value(aspects) }
    return isArray ? values as CFTypeRef : values.first.map { $0 as CFTypeRef }
  }
}

extension CredentialAnswer.Item {
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
