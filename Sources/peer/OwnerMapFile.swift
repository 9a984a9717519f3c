import MigrationArchive
import MigrationSystem
import MigrationWire

/// The file of `--owner-map`: who the sender's users and groups are on this device.
///
/// Each line is `user OLD NEW` or `group OLD NEW`, with names or numbers. Empty lines and lines that
/// begin with `#` do not count.
enum OwnerMapFile {
  /// More than any real file.
  private static let longest = 16 << 20

  static func read(_ path: [UInt8]) throws(Failure) -> OwnerMap {
    let name = VisibleText.quoted(path)
    let text = try Failure.wrapping(
      .usage, "--owner-map: \(name) cannot be read", hint: form,
      Descriptor.openThroughLinks(path).readToEnd(limit: longest))
    return try parse(text, name)
  }

  private static let form = "Write 'user OLD NEW' or 'group OLD NEW' on each line, with names or numbers."

  /// Reads the lines; `name` is the file's name, for people. The functions look up each name NEW.
  static func parse(
    _ text: [UInt8], _ name: String, user: ([UInt8]) -> UInt32? = SystemAccounts.user(named:),
    group: ([UInt8]) -> UInt32? = SystemAccounts.group(named:)
  ) throws(Failure) -> OwnerMap {
    var map = OwnerMap()
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let words = line.split { [9, 13, 32].contains($0) }.map { Array($0) }
      guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
      let place = "--owner-map: \(name), line \(index + 1)"
      let kind: OwnerName.Kind? = ["user": .user, "group": .group][String(decoding: first, as: UTF8.self)]
      guard let kind, words.count == 3 else { throw .usage("\(place) is not a rule", hint: form) }
      guard let new = number(words[2]) ?? (kind == .user ? user(words[2]) : group(words[2])) else {
        throw .usage(
          "\(place): there is no \(kind) \(VisibleText.quoted(words[2])) on this device",
          hint: "Create it first, or write a number.")
      }
      guard map.add(kind, number(words[1]).map { .number($0) } ?? .name(words[1]), new) else {
        throw .usage("\(place): \(VisibleText.quoted(words[1])) has a rule already", hint: "Remove one of them.")
      }
    }
    return map
  }

  /// A number of a user or group; the greatest one stands for none.
  private static func number(_ word: [UInt8]) -> UInt32? {
    guard word.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return UInt32(String(decoding: word, as: UTF8.self)).flatMap { $0 == .max ? nil : $0 }
  }
}
