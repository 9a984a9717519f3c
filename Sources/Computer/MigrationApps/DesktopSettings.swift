import MigrationWire

/// Values of dconf(7) by the paths of their keys, such as `/org/gnome/desktop/interface/clock-format`.
/// A value is a text that is never looked into.
package struct DesktopSettings: Equatable, Sendable {
  private var values: [String: String] = [:]

  /// The most bytes of a dump, of a key's path and of a value.
  package static let longest = 1 << 20
  private static let longestPath = 1024
  private static let longestValue = 64 << 10

  /// Reads the output of `dconf dump /`; nil if it is longer than any settings, or no text. A line
  /// that is no key with a value is left out.
  package init?(dump: [UInt8]) {
    guard dump.count <= Self.longest, let text = String(validating: dump, as: UTF8.self) else { return nil }
    var folder: String?
    for line in text.split(separator: "\n") {
      if line.first == "[" {
        folder = line.last == "]" ? Self.folder(line.dropFirst().dropLast()) : nil
        continue
      }
      guard let folder, let equals = line.firstIndex(of: "=") else { continue }
      let (key, value) = (line[..<equals], line[line.index(after: equals)...])
      guard Self.isName(key), folder.utf8.count + key.utf8.count <= Self.longestPath,
        (1...Self.longestValue).contains(value.utf8.count), !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
      else { continue }
      values[folder + key] = String(value)
    }
  }

  /// The path of a group with a slash at its end; nil if it has none.
  private static func folder(_ group: Substring) -> String? {
    if group == "/" { return "/" }
    let names = group.split(separator: "/", omittingEmptySubsequences: false)
    return names.allSatisfy(isName) ? "/" + group + "/" : nil
  }

  fileprivate static func isName(_ text: Substring) -> Bool {
    let others = Set("-_.:@+".utf8)
    if ["", ".", ".."].contains(text) { return false }
    return text.utf8.allSatisfy { $0.isLetterOrDigit || others.contains($0) }
  }

  package var isEmpty: Bool { values.isEmpty }
  package var count: Int { values.count }

  /// The values of these keys, and of no others.
  package func only(_ keys: [Key]) -> DesktopSettings {
    var some = self
    some.values = values.filter { path, _ in keys.contains { $0.covers(path) } }
    return some
  }

  /// The form that `dconf load /` reads.
  package var dump: [UInt8] {
    var text = ""
    var folder: Substring?
    for (path, value) in values.sorted(by: { $0.key < $1.key }).sorted(by: { $0.key.folder < $1.key.folder }) {
      if path.folder != folder {
        folder = path.folder
        let group = path.folder.dropFirst().dropLast()
        text += (text.isEmpty ? "" : "\n") + "[\(group.isEmpty ? "/" : group)]\n"
      }
      text += "\(path.dropFirst(path.folder.count))=\(value)\n"
    }
    return Array(text.utf8)
  }

  /// A key of dconf that an app's description names, or a folder with all keys below it.
  package struct Key: Equatable, Sendable {
    let path: String

    /// Folders with fewer names hold the settings of many programs.
    private static let fewestNames = 3

    /// Nil if the text is no path from the root; a folder has a slash at its end.
    init?(_ text: String) {
      let names = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
      let isFolder = names.last?.isEmpty == true
      let checked = isFolder ? names.dropLast() : names
      guard text.first == "/", checked.count >= (isFolder ? Self.fewestNames : 2),
        checked.allSatisfy(DesktopSettings.isName)
      else { return nil }
      path = text
    }

    func covers(_ key: String) -> Bool { path.last == "/" ? key.hasPrefix(path) : key == path }
  }
}

extension String {
  /// A key's path up to its last slash.
  fileprivate var folder: Substring { self[...(lastIndex(of: "/") ?? startIndex)] }
}
