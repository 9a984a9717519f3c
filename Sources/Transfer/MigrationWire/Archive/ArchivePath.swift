/// A path within an archive that has passed every rule of Protocol §8.1. Bytes, never normalised.
package struct ArchivePath: Hashable, Comparable, Sendable {
  package let bytes: [UInt8]

  /// Checks the bytes of a path.
  package init(_ bytes: [UInt8]) throws(Violation) {
    try Self.check(bytes.span)
    self.bytes = bytes
  }

  /// Checks borrowed bytes before it copies them.
  package init(copying bytes: Span<UInt8>) throws(Violation) {
    try Self.check(bytes)
    self.bytes = [UInt8](copying: bytes)
  }

  private init(trusted bytes: [UInt8]) { self.bytes = bytes }

  /// This path with one more component.
  package func appending(_ name: Span<UInt8>) throws(Violation) -> ArchivePath {
    try Self.checkComponent(name)
    guard bytes.count + 1 + name.count <= Limits.path else { throw Violation(.limit, "a path") }
    guard depth < Limits.depth else { throw Violation(.limit, "a path's depth") }
    var joined: [UInt8] = []
    joined.reserveCapacity(bytes.count + 1 + name.count)
    joined += bytes
    joined.append(UInt8(ascii: "/"))
    joined.append(copying: name)
    return ArchivePath(trusted: joined)
  }

  /// This path with another path behind it.
  package func appending(_ path: ArchivePath) throws(Violation) -> ArchivePath {
    guard bytes.count + 1 + path.bytes.count <= Limits.path, depth + path.depth <= Limits.depth else {
      throw Violation(.limit, "a path")
    }
    return ArchivePath(trusted: bytes + [UInt8(ascii: "/")] + path.bytes)
  }

  /// The path of the directory that this item is in; nil for a root.
  package var parent: ArchivePath? {
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    return ArchivePath(trusted: Array(bytes[..<slash]))
  }

  /// Whether an item of that path is directly in this directory.
  package func isParent(of path: ArchivePath) -> Bool {
    let slash = bytes.count
    guard path.bytes.count > slash, path.bytes[slash] == UInt8(ascii: "/"), path.bytes[..<slash].elementsEqual(bytes)
    else { return false }
    return !path.bytes[(slash + 1)...].contains(UInt8(ascii: "/"))
  }

  /// The last component.
  package var name: ArraySlice<UInt8> {
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return bytes[...] }
    return bytes[(slash + 1)...]
  }

  /// The first component.
  package var root: ArraySlice<UInt8> {
    bytes.prefix { $0 != UInt8(ascii: "/") }
  }

  package var components: [ArraySlice<UInt8>] {
    bytes.split(separator: UInt8(ascii: "/"))
  }

  /// The number of components.
  package var depth: Int {
    bytes.count { $0 == UInt8(ascii: "/") } + 1
  }

  /// Combines eight bytes at once; the synthesised function combines single bytes.
  package func hash(into hasher: inout Hasher) {
    var rest = bytes.span
    while rest.count >= 8 {
      hasher.combine(UInt64(littleEndian: rest.extracting(first: 8)))
      rest = rest.extracting(droppingFirst: 8)
    }
    // A path has no zero byte, so the last word tells how many bytes it has.
    var last: UInt64 = 0
    for index in rest.indices { last = last << 8 | UInt64(rest[index]) }
    hasher.combine(last)
  }

  package static func < (left: ArchivePath, right: ArchivePath) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  /// Throws the rule that the bytes break.
  package static func check(_ bytes: Span<UInt8>) throws(Violation) {
    guard bytes.count <= Limits.path else { throw Violation(.limit, "a path") }
    var start = 0
    var depth = 0
    for index in 0...bytes.count where index == bytes.count || bytes[index] == UInt8(ascii: "/") {
      try checkComponent(bytes.extracting(start..<index))
      depth += 1
      start = index + 1
    }
    guard depth <= Limits.depth else { throw Violation(.limit, "a path's depth") }
  }

  /// Throws unless the bytes are a valid component.
  package static func checkComponent(_ bytes: Span<UInt8>) throws(Violation) {
    let dot = UInt8(ascii: ".")
    guard bytes.count <= Limits.component else { throw Violation(.limit, "a component of a path") }
    guard bytes.count > 0,
      !(bytes[0] == dot && (bytes.count == 1 || (bytes.count == 2 && bytes[1] == dot)))
    else { throw Violation(.path, "a component of a path") }
    for index in bytes.indices where bytes[index] == 0 || bytes[index] == UInt8(ascii: "/") {
      throw Violation(.path, "a component of a path")
    }
  }
}
