package import MigrationSystem
package import MigrationWire

/// The lanes of a large file's blocks, as the sender has sent them: a later pass sends only the blocks
/// that differ.
struct BlockSums: Equatable, Sendable {
  /// The smallest file of which they are kept.
  static let smallestFile: UInt64 = 16 << 20
  /// The shortest block, and the most blocks of a file: a list has at most 768 KiB.
  private static let shortest: UInt64 = 128 << 10
  private static let most: UInt64 = 65_536

  /// The size of the file.
  let size: UInt64
  /// The length of a block, a power of two; the last block may be shorter.
  let length: UInt64
  private(set) var blocks: [PieceLanes]

  /// The length of the blocks of a file.
  static func length(ofFile size: UInt64) -> UInt64 {
    var length = shortest
    while length.multipliedClamped(by: most) < size { length *= 2 }
    return length
  }

  /// The range of a block; nil behind the end.
  func range(of block: UInt64) -> Range<UInt64>? {
    let (start, isOver) = block.multipliedReportingOverflow(by: length)
    return isOver || start >= size ? nil : start..<min(start + length, size)
  }

  /// Reads a whole file; nil if it becomes shorter meanwhile.
  static func read(_ file: some SourceFile, _ size: UInt64) throws(SystemError) -> BlockSums? {
    var builder = Builder(size: size)
    var buffer = [UInt8](repeating: 0, count: Int(builder.length))
    var block: UInt64 = 0
    while let range = builder.sums.range(of: block) {
      let read = try buffer.withPart(0..<range.count) { (memory) throws(SystemError) in
        try file.readFully(at: Int64(range.lowerBound), into: &memory)
      }
      guard read == range.count else { return nil }
      builder.note(PieceLanes(checkLanes(of: buffer.span.extracting(..<range.count))), at: range)
      block += 1
    }
    return builder.result
  }

  /// Whether a block has these lanes.
  func has(_ lanes: PieceLanes, at range: Range<UInt64>) -> Bool {
    let block = range.lowerBound / length
    return self.range(of: block) == range && blocks[Int(block)] == lanes
  }

  /// The sum of the whole file.
  var sum: [UInt8] {
    var sum = ContentSum()
    for (block, lanes) in blocks.enumerated() {
      if let range = range(of: UInt64(block)) { sum.add(lanes, at: range) }
    }
    return sum.bytes ?? []
  }

  /// Gathers the lanes while pieces of the file are read, in any order.
  struct Builder: Sendable {
    fileprivate private(set) var sums: BlockSums
    /// The blocks of which only some pieces have been read, and how many of their bytes.
    private var begun: [Int: (sum: ContentSum, count: UInt64)] = [:]
    private var isDone: [Bool]

    init(size: UInt64) {
      let length = BlockSums.length(ofFile: size)
      let count = Int((size + length - 1) / length)
      sums = BlockSums(size: size, length: length, blocks: [PieceLanes](repeating: PieceLanes(), count: count))
      isDone = [Bool](repeating: false, count: count)
    }

    /// The length of a block: pieces are noted block by block.
    var length: UInt64 { sums.length }

    /// Notes a piece inside of one block; nil for the lanes of a hole.
    mutating func note(_ lanes: PieceLanes?, at range: Range<UInt64>) {
      let number = Int(range.lowerBound / length)
      guard let block = sums.range(of: UInt64(number)), range.upperBound <= block.upperBound, !isDone[number] else {
        return
      }
      if let lanes, range == block {
        (sums.blocks[number], isDone[number]) = (lanes, true)
        return
      }
      var (sum, count) = begun[number] ?? (ContentSum(), 0)
      if let lanes {
        sum.add(lanes, at: range.lowerBound - block.lowerBound..<range.upperBound - block.lowerBound)
      }
      count += UInt64(range.count)
      begun[number] = (sum, count)
      guard count >= UInt64(block.count), let lanes = sum.lanes(of: UInt64(block.count)) else { return }
      begun[number] = nil
      (sums.blocks[number], isDone[number]) = (lanes, true)
    }

    /// Notes a hole, which may have many blocks.
    mutating func note(hole: Range<UInt64>) {
      var start = hole.lowerBound
      while start < hole.upperBound {
        let end = min(hole.upperBound, (start / length + 1) * length)
        note(nil, at: start..<end)
        start = end
      }
    }

    /// The lanes of all blocks; nil if some have not been read.
    var result: BlockSums? { isDone.allSatisfy(\.self) ? sums : nil }
  }
}

extension BlockSums {
  private static let magic = Array("peer blocks 1\n".utf8)
  private static let subject = "a list of blocks"

  fileprivate init(size: UInt64, length: UInt64, lanes: [PieceLanes]) {
    (self.size, self.length, blocks) = (size, length, lanes)
  }

  /// The whole file of a list. Its checksum finds damage.
  var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.array(Self.magic)
    writer.u64(size)
    writer.u64(length)
    for lanes in blocks { lanes.write(to: &writer) }
    writer.u128(Self.checksum(writer.bytes))
    return writer.bytes
  }

  /// Reads the whole file of a list.
  init(encoded bytes: [UInt8]) throws(Violation) {
    guard bytes.starts(with: Self.magic), bytes.count >= Self.magic.count + 32 else {
      throw Violation(.unknown, Self.subject)
    }
    var reader = ByteReader(Self.magic.count..<bytes.count, of: Self.subject)
    let (size, length) = (try reader.u64(bytes.span), try reader.u64(bytes.span))
    guard size > 0, length == Self.length(ofFile: size), reader.remaining == Int((size + length - 1) / length) * 12 + 16
    else { throw Violation(.value, Self.subject) }
    var blocks: [PieceLanes] = []
    while reader.remaining > 16 { blocks.append(try PieceLanes(&reader, bytes.span)) }
    guard try reader.u128(bytes.span) == Self.checksum(Array(bytes.dropLast(16))) else {
      throw Violation(.check, Self.subject)
    }
    self.init(size: size, length: length, lanes: blocks)
  }

  private static func checksum(_ bytes: [UInt8]) -> UInt128 {
    var hash = SipHash(key: 0)
    hash.combine(bytes)
    return hash.finish()
  }
}

/// The lists of blocks of the large files that this device has sent to a known device.
package final class BlockStore: Sendable {
  /// The folder's name among the records of a device.
  package static let folderName = Array("blocks".utf8)

  private let folder: SharedDirectory
  /// The source of each root.
  private let sources: [[UInt8]: SourceIdentity]

  package init(_ folder: SharedDirectory, of sources: [[UInt8]: SourceIdentity]) {
    (self.folder, self.sources) = (folder, sources)
  }

  /// A list of a file is the newest one; the one before it stays until the newest one is known to
  /// have arrived.
  private enum Age: String, CaseIterable {
    case newest = ""
    case arrived = "-a"
  }

  private func name(_ path: ArchivePath) -> String? {
    guard let source = sources[Array(path.root)], source != .unknown else { return nil }
    var hash = SipHash(key: 0)
    hash.combine(path.bytes)
    return Self.prefix(source) + hash.finish().hexadecimal
  }

  private static func prefix(_ source: SourceIdentity) -> String { UInt128(source.rawValue).hexadecimal + "-" }

  /// The list of the state of a file that lies at the receiver, among those that are kept.
  func list(of path: ArchivePath, arrived hasArrived: (BlockSums) -> Bool) -> BlockSums? {
    guard let name = name(path) else { return nil }
    for age in Age.allCases {
      let file = Array((name + age.rawValue).utf8)
      guard let bytes = try? folder.directory.openChild(file[...]).readAll(limit: 1 << 20),
        let list = try? BlockSums(encoded: bytes), hasArrived(list)
      else { continue }
      if age == .newest {
        try? folder.directory.rename(
          file, to: folder.directory, as: Array((name + Age.arrived.rawValue).utf8), noReplace: false)
      }
      return list
    }
    return nil
  }

  /// Keeps the list of a file that has been read. It is of use only if it is whole, and costs nothing
  /// else if it is lost.
  func keep(_ list: BlockSums, of path: ArchivePath) {
    guard let name = name(path) else { return }
    try? folder.directory.replaceFile(Array(name.utf8), with: list.encoded, isDurable: false)
  }

  /// Removes the lists of files that these sources no longer have.
  func forget(besides paths: some Sequence<ArchivePath>) {
    let kept = Set(paths.compactMap(name))
    let prefixes = sources.values.filter { $0 != .unknown }.map(Self.prefix)
    for name in (try? folder.directory.names()) ?? [] {
      let text = String(decoding: name, as: UTF8.self)
      guard prefixes.contains(where: text.hasPrefix),
        !kept.contains(text.hasSuffix(Age.arrived.rawValue) ? String(text.dropLast(2)) : text)
      else { continue }
      try? folder.directory.remove(name)
    }
  }
}
