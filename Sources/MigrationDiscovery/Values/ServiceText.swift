/// The content of a service's TXT record (RFC 6763 §6): keys with values, none of them secret.
enum ServiceText {
  /// A receiver's own text.
  static func bytes(instance: UInt64) -> [UInt8] {
    ["txtvers=1", "id=" + Hexadecimal.digits(instance)].flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
  }

  /// The instance that a record names, nil if it names none. The first of several counts (RFC 6763
  /// §6.4).
  static func instance(_ bytes: [UInt8]) -> UInt64? {
    var rest = bytes[...]
    while let length = rest.popFirst() {
      let string = rest.prefix(Int(length))
      rest = rest.dropFirst(Int(length))
      if string.count > 2, string.prefix(2).map({ $0 | 0x20 }) == Array("id".utf8), string.dropFirst(2).first == 0x3d {
        return Hexadecimal.number(string.dropFirst(3))
      }
    }
    return nil
  }
}
