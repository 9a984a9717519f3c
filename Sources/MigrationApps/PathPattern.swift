import MigrationWire

/// A path in which `*` stands for any one folder.
package struct PathPattern: Equatable, Sendable {
  static let any = Array("*".utf8)

  let components: [[UInt8]]

  /// Nil if it is no path of names.
  init?(_ text: String) {
    components = text.split(separator: "/", omittingEmptySubsequences: false).map { Array($0.utf8) }
    guard !text.isEmpty, components.last != Self.any,
      components.allSatisfy({ $0 == Self.any || Self.isName($0) })
    else { return nil }
  }

  private static func isName(_ bytes: [UInt8]) -> Bool {
    (try? ArchivePath.checkComponent(bytes.span)) != nil && !bytes.contains { Array("*?[\\".utf8).contains($0) }
  }

  /// Whether a path fits.
  func matches(_ path: ArchivePath) -> Bool {
    let names = path.bytes.split(separator: UInt8(ascii: "/"))
    return names.count == components.count
      && zip(names, components).allSatisfy { $1 == Self.any || Array($0) == $1 }
  }

  /// The pattern by which such files stay behind.
  var exclusion: [UInt8] { [UInt8(ascii: "/")] + components.joined(separator: [UInt8(ascii: "/")]) }
}
