import MigrationSystem
import MigrationTransfer

/// The file that leads a browser to the page. All users of the machine see the words that a browser
/// is started with; only its own user reads this file, which has the ticket.
enum LeadingFile {
  private static let folderName = Array("peer-assistant".utf8)

  /// The folders in which it may lie, the best first. Browsers of snapd read no hidden folder, and
  /// none outside of the home.
  ///
  /// - Parameter records: PEER_HOME.
  static func places(
    _ records: [UInt8], hasSnaps: Bool = FileContent.isDirectory(Array("/var/lib/snapd".utf8)),
    variable: (String) -> [UInt8]? = Environment.bytes
  ) -> [[UInt8]] {
    [hasSnaps ? variable("HOME") : nil, variable("XDG_RUNTIME_DIR"), records].compactMap(\.self).filter {
      // The words of a program are texts.
      $0.first == UInt8(ascii: "/") && String(validating: $0, as: UTF8.self) != nil
    }
  }

  /// Writes the file in the first folder that no other user can change; nil if there is none.
  static func write(_ address: String, in places: [[UInt8]]) -> [UInt8]? {
    write(page: content(leadingTo: address), in: places)
  }

  /// The same with another document.
  static func write(page: String, in places: [[UInt8]]) -> [UInt8]? {
    for place in places {
      if let path = try? write(page: page, below: place) { return path }
    }
    return nil
  }

  private static func write(page: String, below place: [UInt8]) throws -> [UInt8] {
    try TransferStore.check(place, hint: "")
    let above = try Directory.open(place)
    // Another start may have made it.
    if try above.isFree(folderName) { try above.makeDirectory(folderName, mode: 0o700) }
    let folder = try openFolder(in: above)
    // The user may have a folder of that name.
    guard try folder.names().allSatisfy(isOwn) else {
      throw SystemError(reason: "it has other files", operation: "use")
    }
    let name = Array("\(CurrentProcess.id).html".utf8)
    try folder.replaceFile(name, with: Array(page.utf8))
    return Array([place, folderName, name].joined(separator: [UInt8(ascii: "/")]))
  }

  private static func openFolder(in above: borrowing Directory) throws(SystemError) -> Directory {
    let folder = try above.openChildDirectory(folderName)
    let status = try folder.status()
    guard status.owner == CurrentProcess.effectiveUserID, status.mode & 0o077 == 0 else {
      throw SystemError(reason: "other users reach it", operation: "use")
    }
    return folder
  }

  /// Whether a file has the name of a leading one: the number of a process.
  private static func isOwn(_ name: [UInt8]) -> Bool {
    let number = name.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return !number.isEmpty && name.dropFirst(number.count).elementsEqual(".html".utf8)
  }

  /// Removes all such files, once no ticket works, and the folder if nothing else is in it.
  static func removeAll(in places: [[UInt8]]) {
    for place in places { try? remove(below: place) }
  }

  private static func remove(below place: [UInt8]) throws(SystemError) {
    let above = try Directory.open(place)
    let folder = try openFolder(in: above)
    let names = try folder.names()
    for name in names.filter(isOwn) { try folder.remove(name) }
    if names.allSatisfy(isOwn) { try above.removeDirectory(folderName) }
  }

  /// A document that says why there is no page.
  static func content(saying texts: [String]) -> String {
    let signs: [Character: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;"]
    let paragraphs = texts.map { text in "<p>" + text.map { signs[$0] ?? String($0) }.joined() + "</p>\n" }
    return """
      <!doctype html>
      <meta charset="utf-8">
      <title>Move to a new computer</title>
      \(paragraphs.joined())
      """
  }

  /// The document, which leads on at once, or by a click.
  static func content(leadingTo address: String) -> String {
    """
    <!doctype html>
    <meta charset="utf-8">
    <meta name="referrer" content="no-referrer">
    <meta http-equiv="refresh" content="0; url=\(address)">
    <title>Move to a new computer</title>
    <p><a href="\(address)">Move to a new computer</a></p>

    """
  }
}
