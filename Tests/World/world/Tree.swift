import CWorld
import Foundation
import TestSupport

/// The items below a folder, by their paths.
struct Tree: Equatable {
  struct Item: Equatable {
    let mode: UInt32
    let modified: Int
    /// The content of a file, the target of a link.
    let content: Data
  }

  var items: [String: Item] = [:]

  init() {}

  /// Reads a folder.
  init(_ folder: String, below prefix: String = "") {
    for name in Self.names(of: folder) {
      let path = "\(folder)/\(name)"
      var status = stat()
      guard lstat(path, &status) == 0 else { continue }
      let (kind, isLink) = (status.st_mode & S_IFMT, status.st_mode & S_IFMT == S_IFLNK)
      var content = Data()
      if kind == S_IFREG { content = Self.content(path, Int(status.st_size)) }
      if isLink { content = Data(Self.target(path)) }
      items[prefix + name] = Item(
        mode: isLink ? kind : status.st_mode, modified: isLink ? 0 : status.st_mtim.tv_sec, content: content)
      if kind == S_IFDIR { items.merge(Tree(path, below: "\(prefix)\(name)/").items) { one, _ in one } }
    }
  }

  static func names(of folder: String) -> [String] {
    names(at: folder).map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  /// The same in bytes: a name need not be text.
  static func names(at folder: UnsafePointer<CChar>) -> [[UInt8]] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [[UInt8]] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
    }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// The path of an item in a folder, with the zero at its end, as the folder's.
  static func path(_ folder: [CChar], _ name: [UInt8]) -> [CChar] {
    Array(folder.dropLast()) + ([UInt8(ascii: "/")] + name + [0]).map { CChar(bitPattern: $0) }
  }

  static func target(_ path: UnsafePointer<CChar>) -> [UInt8] {
    var target = [UInt8](repeating: 0, count: 4096)
    target.removeLast(4096 - max(0, target.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, 4096) }))
    return target
  }

  /// Removes an item, and everything in it.
  static func remove(_ path: [CChar]) {
    guard Glibc.unlink(path) != 0 else { return }
    chmod(path, 0o700)
    for name in names(at: path) { remove(Self.path(path, name)) }
    rmdir(path)
  }

  static func content(_ path: UnsafePointer<CChar>, _ size: Int) -> Data {
    let file = open(path, O_RDONLY)
    defer { close(file) }
    var bytes = Data(count: size)
    bytes.withUnsafeMutableBytes { if !$0.isEmpty { _ = read(file, $0.baseAddress!, size) } }
    return bytes
  }

  /// What this tree lacks of another one, or has besides; nil if they are the same.
  func difference(from whole: Tree) -> String? {
    for (path, item) in whole.items.sorted(by: { $0.key < $1.key }) {
      guard let here = items[path] else { return "\(path) is lost" }
      if here.content != item.content { return "\(path) has another content" }
      if here != item {
        return "\(path) has the mode \(here.mode) and the time \(here.modified), not \(item.mode) and \(item.modified)"
      }
    }
    return items.keys.sorted().first { whole.items[$0] == nil }.map { "\($0) is there, and was not sent" }
  }
}

extension Generator {
  mutating func data(_ count: Int) -> Data {
    var bytes = Data(count: count)
    let seed = next()
    bytes.withUnsafeMutableBytes { world_fill($0.baseAddress, $0.count, seed) }
    return bytes
  }
}

extension Data {
  func write(to file: CInt) {
    withUnsafeBytes { if !$0.isEmpty { _ = Glibc.write(file, $0.baseAddress!, $0.count) } }
  }
}

/// Makes what is sent.
struct Planter {
  private var generator: Generator
  private let folder: String
  private var files: [String] = []

  init(seed: UInt64, in folder: String) {
    generator = Generator(seed: seed)
    self.folder = folder
  }

  private mutating func below(_ bound: Int) -> Int { Int(generator.next() % UInt64(bound)) }

  /// Makes a few roots, and returns their names.
  mutating func plant(withLarge: Bool, withImage: Bool) -> [String] {
    var roots = (0...below(2)).map { "root\($0)" }
    for root in roots {
      if below(4) == 0 { file(root) } else { directory(root, depth: 0) }
    }
    if withLarge {
      roots.append("large")
      file("large", size: 2_000_000)
    }
    if withImage {
      roots.append("image")
      image("image")
    }
    return roots
  }

  /// The size of a file of which the sender keeps the blocks.
  static let imageSize = (16 << 20) + 1000

  /// Makes such a file: most of it is a hole.
  private mutating func image(_ path: String) {
    let file = open("\(folder)/\(path)", O_WRONLY | O_CREAT | O_EXCL, 0o644)
    ftruncate(file, off_t(Self.imageSize))
    for place in 0...3 {
      lseek(file, off_t(place * (5 << 20) + below(1 << 18)), SEEK_SET)
      generator.data(1 + below(300_000)).write(to: file)
    }
    close(file)
    date(path)
    files.append(path)
  }

  private mutating func directory(_ path: String, depth: Int) {
    mkdir("\(folder)/\(path)", 0o755)
    for index in 0..<below(depth == 0 ? 7 : 4) {
      let name = "\(path)/\(index)"
      switch below(12) {
      case 0 where depth < 3, 1 where depth < 3: directory(name, depth: depth + 1)
      case 2: symlink("target\(index)", "\(folder)/\(name)")
      case 3 where !files.isEmpty: link("\(folder)/\(files[below(files.count)])", "\(folder)/\(name)")
      default: file(name)
      }
    }
    date(path)
  }

  private mutating func file(_ path: String, size: Int? = nil) {
    let sizes = [0, 1 + below(3000), 1 + below(3000), 1 + below(3000), 1 + below(60_000), 1 + below(1_000_000)]
    var bytes = generator.data(size ?? sizes[below(20) == 0 ? 5 : below(5)])
    if below(8) == 0 {
      for place in stride(from: 65536, to: bytes.count, by: 131072) {
        bytes.resetBytes(in: place..<min(place + 65536, bytes.count))
      }
    }
    let file = open("\(folder)/\(path)", O_WRONLY | O_CREAT | O_EXCL, 0o644)
    bytes.write(to: file)
    fchmod(file, [0o644, 0o600, 0o755][below(3)])
    close(file)
    date(path)
    files.append(path)
  }

  /// Every time is one of the world's past.
  private mutating func date(_ path: String) {
    let time = timespec(tv_sec: 900_000_000 + below(1_000_000), tv_nsec: 0)
    utimensat(AT_FDCWD, "\(folder)/\(path)", [time, time], 0)
  }
}
