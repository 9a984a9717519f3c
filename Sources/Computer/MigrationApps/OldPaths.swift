package import MigrationWire

/// The paths of the sender's home, with the paths here that replace them in some files. A path is
/// replaced only as a whole, plain or in a `file://` address.
package struct OldPaths: Sendable {
  /// The old home, for messages.
  package let home: [UInt8]
  /// Those of the home first, with which all others begin.
  private let forms: [Form]

  /// Nil if nothing can be replaced: nothing has moved, the old home's path has fewer than two
  /// names, or a path would change again in a second pass.
  ///
  /// - Parameters:
  ///   - told: what the sender says about its home.
  ///   - home: the path of this home.
  ///   - folders: the places of the user's folders in it, by key.
  package init?(_ told: [HomePath], home: [UInt8], folders: [String: [UInt8]]) {
    let slash = UInt8(ascii: "/")
    guard let old = told.first(where: { $0.key == Self.homeKey })?.path, Self.isPlain(old), Self.isPlain(home),
      old.split(separator: slash).count >= 2
    else { return nil }
    var pairs = [(old: old, new: home)]
    for folder in told {
      guard let place = folders[String(decoding: folder.key, as: UTF8.self)], Self.isPlain(folder.path),
        folder.path.starts(with: old + [slash])
      else { continue }
      let new = home + [slash] + place
      if Self.isPlain(new) { pairs.append((folder.path, new)) }
    }
    self.home = old
    forms = pairs.flatMap { pair in
      [
        Form(old: Self.scheme + Self.encoded(pair.old), new: Self.scheme + Self.encoded(pair.new), isAddress: true),
        Form(old: pair.old, new: pair.new, isAddress: false),
      ]
    }
    // An import that was killed may have replaced some files already.
    guard pairs.contains(where: { $0.old != $0.new }), pairs.allSatisfy({ replaced(in: $0.new)?.content == nil })
    else { return nil }
  }

  package static let homeKey = Array("home".utf8)

  private static let special = Set("\"'<>&\\%*?#;,:=$`|[]{}^".utf8)

  /// Whether a path has the same bytes in every kind of file that has paths.
  private static func isPlain(_ path: [UInt8]) -> Bool {
    path.first == UInt8(ascii: "/") && path.last != UInt8(ascii: "/")
      && path.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !special.contains($0) }
      && path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        .allSatisfy { !$0.isEmpty && $0 != [0x2E] && $0 != [0x2E, 0x2E] }
  }

  /// The content with the new paths, and the number of replacements; nil if no old path in it changes.
  package func replaced(in content: [UInt8]) -> (content: [UInt8], count: Int)? {
    var result: [UInt8] = []
    var (count, end, copied) = (0, 0, 0)
    for (start, form) in found(in: content) where start >= end {
      end = start + form.old.count
      if form.old == form.new { continue }
      result += content[copied..<start]
      result += form.new
      (copied, count) = (end, count + 1)
    }
    return count == 0 ? nil : (result + content[copied...], count)
  }

  /// The places where an old path stands, in order, each with the longest one there.
  private func found(in content: [UInt8]) -> [(start: Int, form: Form)] {
    var found: [Int: Form] = [:]
    for (number, form) in forms.enumerated() where number < 2 || !found.isEmpty {
      for start in form.search.places(in: content) where form.isWhole(in: content, at: start) {
        if form.old.count > found[start]?.old.count ?? 0 { found[start] = form }
      }
    }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Whether the target of a link is in the old home, and has another path here.
  func leads(_ target: [UInt8]) -> Bool { target.starts(with: home) && replaced(in: target) != nil }

  /// Whether a content has an old path, changed or not.
  func stands(in content: [UInt8]) -> Bool { replaced(in: content) != nil }

  private struct Form {
    let search: TextSearch
    let new: [UInt8]
    let isAddress: Bool
    var old: [UInt8] { search.text }

    init(old: [UInt8], new: [UInt8], isAddress: Bool) {
      (search, self.new, self.isAddress) = (TextSearch(old), new, isAddress)
    }

    /// Whether it begins and ends where a path does.
    func isWhole(in content: [UInt8], at start: Int) -> Bool {
      let end = start + old.count
      if end < content.count, content[end] != UInt8(ascii: "/"), !OldPaths.ends.contains(content[end]) { return false }
      guard start > 0 else { return true }
      let before = content[start - 1]
      return isAddress ? !before.isLetterOrDigit : OldPaths.beginnings.contains(before)
    }
  }

  /// What may stand before and behind a path. A blank can be part of a name, so it ends no path;
  /// a script's first line begins with `#!`.
  private static let beginnings = Set(" \t\n\r\0\"'=:,;([{<>|!".utf8)
  private static let ends = Set("\t\n\r\0\"':,;)]}<>|?#".utf8)

  /// The address of a path begins with this.
  private static let scheme = Array("file://".utf8)

  /// A path as addresses have it.
  private static func encoded(_ path: [UInt8]) -> [UInt8] {
    let plain = Set("/-._~!()*@+".utf8)
    let digits = Array("0123456789ABCDEF".utf8)
    return path.flatMap { byte in
      byte.isLetterOrDigit || plain.contains(byte)
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }
}
