import MigrationSystem
import MigrationWire

/// The version of a program: numbers with dots between them. Text after them does not count.
package struct Version: Comparable, Sendable, CustomStringConvertible {
  private let numbers: [UInt32]

  /// Nil if the text begins with no number.
  package init?(_ text: some StringProtocol) {
    var numbers: [UInt32] = []
    for word in text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
      let digits = word.prefix { (48...57).contains($0) }
      guard let number = UInt32(String(decoding: digits, as: UTF8.self)) else { break }
      numbers.append(number)
      if digits.count < word.count { break }
    }
    guard !numbers.isEmpty else { return nil }
    self.numbers = numbers
  }

  package var description: String { numbers.map { "\($0)" }.joined(separator: ".") }

  package static func < (left: Version, right: Version) -> Bool {
    let count = max(left.numbers.count, right.numbers.count)
    func padded(_ version: Version) -> [UInt32] {
      version.numbers + [UInt32](repeating: 0, count: count - version.numbers.count)
    }
    return padded(left).lexicographicallyPrecedes(padded(right))
  }
}

/// The place in an app's data that names the version that wrote it.
package struct WrittenVersion: Equatable, Sendable {
  /// The path in the archive, of which the first component is a root's key.
  let file: PathPattern
  /// The key of the line; nil if the file's beginning is the version.
  let key: String?

  /// The version in a file of the archive; nil if it is another file.
  func version(in content: [UInt8], of path: ArchivePath) -> Version? {
    guard file.matches(path) else { return nil }
    let text = String(decoding: content, as: UTF8.self)
    guard let key else { return Version(text) }
    let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(key + "=") }
    return line.flatMap { Version($0.dropFirst(key.count + 1)) }
  }
}

/// The packages that are installed on this device, as dpkg(1) records them.
package struct InstalledPackages: Sendable {
  private let database: [UInt8]?
  private let automatic: [UInt8]?

  /// `database` is the file with the state of all packages. `automatic` is the file in which apt(8)
  /// notes the packages that others needed. Nil if a file is unknown.
  package init(_ database: [UInt8]? = nil, automatic: [UInt8]? = nil) {
    self.database = database
    self.automatic = automatic
  }

  /// The names of the installed packages.
  package var names: Set<String> {
    Set(present.compactMap { $0["Package"] })
  }

  /// The packages that this device's user has installed, sorted: no libraries, and no package that
  /// others or each system need. A program that installs a system marks no package as needed by others.
  package var byHand: [String] {
    guard automatic != nil else { return [] }
    let present = present
    let automatic = Self.stanzas(of: automatic).compactMap { $0["Auto-Installed"] == "1" ? $0["Package"] : nil }
    let needed = Set(automatic + present.flatMap(Self.needs))
    let chosen = present.compactMap { fields -> String? in
      guard fields["Essential"] != "yes", let name = fields["Package"], !needed.contains(name),
        !["required", "important", "standard"].contains(fields["Priority"]),
        !["libs", "oldlibs"].contains(fields["Section"].map { $0.split(separator: "/").last ?? "" })
      else { return nil }
      return name
    }
    return Set(chosen).sorted()
  }

  /// The packages without which another one cannot be installed.
  private static func needs(_ fields: [String: String]) -> [String] {
    [fields["Pre-Depends"], fields["Depends"]].compactMap(\.self).flatMap { $0.split(separator: ",") }.compactMap {
      group in
      // One of several would do.
      group.contains("|") ? nil : group.split(whereSeparator: { " (:".contains($0) }).first.map(String.init)
    }
  }

  /// The fields of each installed package.
  private var present: [[String: String]] {
    Self.stanzas(of: database).filter { $0["Status"] == "install ok installed" }
  }

  private static let fields = [
    "Package", "Status", "Essential", "Priority", "Auto-Installed", "Section", "Depends", "Pre-Depends", "Version",
  ]

  /// The fields that matter here, of each package in a file.
  private static func stanzas(of file: [UInt8]?) -> [[String: String]] {
    guard let file, let content = try? FileContent.read(file, limit: longest) else { return [] }
    var stanzas: [[String: String]] = [[:]]
    for line in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if line.isEmpty { stanzas.append([:]) }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon - line.startIndex <= 14 else { continue }
      let field = String(decoding: line[..<colon], as: UTF8.self)
      guard fields.contains(field) else { continue }
      let value = String(decoding: line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }, as: UTF8.self)
      stanzas[stanzas.count - 1][field] = value
    }
    return stanzas
  }

  private static let longest = 64 << 20

  /// The version of the first of some packages that is installed.
  func version(of packages: [String]) -> Version? {
    let present = packages.isEmpty ? [] : present
    let found = packages.lazy.compactMap { name in present.first { $0["Package"] == name } }.first
    // Without the epoch, which is the packager's own.
    return found?["Version"].flatMap { Version($0.split(separator: ":").last ?? "") }
  }
}
