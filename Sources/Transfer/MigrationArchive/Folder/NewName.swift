import MigrationWire

/// Names that a folder import makes: for an item beside an existing one, and for an item that it sets aside.
enum NewName {
  /// A name for a received item whose own name is taken: "photos (2)", "notes (2).txt". It is
  /// shortened if it would be too long, with so many bytes behind it.
  static func numbered(
    _ name: ArraySlice<UInt8>, isDirectory: Bool, number: Int, leaving reserve: Int = 0
  ) -> [UInt8] {
    let (stem, ending) = isDirectory ? (name, []) : parts(of: name)
    let mark = Array(" (\(number))".utf8)
    let room = Limits.component - mark.count - ending.count - reserve
    return prefix(of: stem, room) + mark + ending
  }

  /// A name with a suffix: `NAME.before-2026-11-25`. The name is shortened if both would be too long.
  static func ending(_ name: ArraySlice<UInt8>, in suffix: [UInt8]) -> [UInt8] {
    prefix(of: name, Limits.component - suffix.count) + suffix
  }

  /// The name without its last extension, and the extension with its dot. A name has no extension
  /// if its only dot is its first character, if nothing follows the last dot, or if the text behind
  /// the dot is longer than extensions are.
  private static func parts(of name: ArraySlice<UInt8>) -> (stem: ArraySlice<UInt8>, ending: ArraySlice<UInt8>) {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), name[..<dot].contains(where: { $0 != UInt8(ascii: ".") }),
      dot + 1 < name.endIndex, name.endIndex - dot <= longestEnding
    else { return (name, []) }
    return (name[..<dot], name[dot...])
  }

  private static let longestEnding = 32

  /// The longest prefix of a name that fits and does not end within a character.
  private static func prefix(of name: ArraySlice<UInt8>, _ count: Int) -> [UInt8] {
    guard name.count > count else { return Array(name) }
    var end = name.startIndex + count
    while end > name.startIndex, name[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
    // Bytes that are not UTF-8 may be cut anywhere.
    return Array(name[..<(end > name.startIndex ? end : name.startIndex + count)])
  }
}
