import MigrationWire

/// Names for what arrives beside something that has its name already: "photos (2)", "notes (2).txt".
enum BesideName {
  /// The name with a number, cut where it would be too long.
  static func of(_ name: ArraySlice<UInt8>, isDirectory: Bool, number: Int) -> [UInt8] {
    let (stem, ending) = isDirectory ? (name, []) : parts(of: name)
    let mark = Array(" (\(number))".utf8)
    let room = Limits.component - mark.count - ending.count
    return prefix(of: stem, room) + mark + ending
  }

  /// What stands before the last extension, and that with its dot. A name that begins with its only dot has none, nor has one
  /// whose last dot is followed by nothing, or by more than an extension ever is.
  private static func parts(of name: ArraySlice<UInt8>) -> (stem: ArraySlice<UInt8>, ending: ArraySlice<UInt8>) {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), name[..<dot].contains(where: { $0 != UInt8(ascii: ".") }),
      dot + 1 < name.endIndex, name.endIndex - dot <= longestEnding
    else { return (name, []) }
    return (name[..<dot], name[dot...])
  }

  private static let longestEnding = 32

  /// As much of a name as fits, without a part of a character at its end.
  private static func prefix(of name: ArraySlice<UInt8>, _ count: Int) -> [UInt8] {
    guard name.count > count else { return Array(name) }
    var end = name.startIndex + count
    while end > name.startIndex, name[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
    // Bytes that are no UTF-8 are cut anywhere.
    return Array(name[..<(end > name.startIndex ? end : name.startIndex + count)])
  }
}
