import CWorld
import Foundation
import TestSupport

/// What a user sends.
struct Source {
  let folder: String
  let roots: [String]
  /// What is in it now.
  var tree: Tree
  var wasSent = false
  /// What the new device's user has changed or removed there since it arrived, with the content at the source
  /// then.
  var settled: [String: Data] = [:]
  /// What was changed with its size and time kept, and how many pairings there were before.
  var hidden: [String: UInt64] = [:]

  init(_ seed: UInt64, _ name: String, withLarge: Bool = false, withImage: Bool = false) {
    folder = "\(Ends.source)/\(name)"
    mkdir(folder, 0o755)
    var planter = Planter(seed: seed, in: folder)
    roots = planter.plant(withLarge: withLarge, withImage: withImage)
    tree = Tree(folder)
  }
}

/// What both users change between two passes.
struct Changes {
  private var generator: Generator
  /// What the new device's user has made.
  private var made: [Data] = []

  /// What the new device's user has removed of each source since it arrived, as it was.
  private var removed: [Int: [String: Tree.Item]] = [:]

  /// Whether programs may keep the size and the time of what they change: only records tell that.
  private let mayHide: Bool

  init(seed: UInt64, mayHide: Bool) {
    generator = Generator(seed: seed ^ 0x5EED)
    self.mayHide = mayHide
  }

  private mutating func below(_ bound: Int) -> Int { Int(generator.next() % UInt64(bound)) }

  /// The old device's user works on.
  mutating func change(_ source: inout Source) {
    let files = source.tree.items.filter { $0.value.mode & S_IFMT == S_IFREG }.sorted { $0.key < $1.key }
    for (name, item) in files where below(3) == 0 {
      let path = "\(source.folder)/\(name)"
      // Some programs keep the size, and set the time again.
      let isHidden = below(2) == 0 && mayHide
      source.hidden[name] = isHidden ? world_happened(WORLD_PAIRED) : nil
      let file = open(path, O_WRONLY)
      if item.content.count > Planter.imageSize / 2 {
        for _ in 0...below(4) {
          lseek(file, off_t(below(item.content.count + 1000)), SEEK_SET)
          generator.data(1 + below(3000)).write(to: file)
        }
        if isHidden || below(3) == 0 { ftruncate(file, item.content.count - (isHidden ? 0 : below(1 << 20))) }
      } else {
        let content = generator.data(isHidden ? item.content.count : 1 + below(3000))
        content.write(to: file)
        if !isHidden { ftruncate(file, content.count) }
      }
      close(file)
      world_say("changes \(path)\(isHidden ? ", and dates it back" : "")")
      touch(path, at: isHidden ? item.modified : 900_000_000 + below(90_000_000))
    }
    source.tree = Tree(source.folder)
  }

  /// The old device's user removes a file.
  mutating func remove(from source: inout Source) {
    let files = source.tree.items.keys.filter {
      (source.tree.items[$0]?.mode ?? 0) & S_IFMT == S_IFREG && $0.contains("/")
    }
    guard let name = files.sorted().dropFirst(below(max(1, files.count))).first, let end = name.lastIndex(of: "/")
    else { return }
    let (path, folder) = ("\(source.folder)/\(name)", "\(source.folder)/\(name[..<end])")
    world_say("removes \(path)")
    touch(path, at: source.tree.items[name]?.modified ?? 0)
    unlink(path)
    touch(folder, at: 900_000_000 + below(90_000_000))
    source.tree = Tree(source.folder)
  }

  /// The new device's user has something at the places where roots are to arrive.
  mutating func settle(in destination: String, under roots: [String]) {
    for root in roots where below(3) > 0 {
      mkdir("\(destination)/\(root)", 0o755)
      let content = generator.data(1 + below(3000))
      let file = open("\(destination)/\(root)/old", O_WRONLY | O_CREAT, 0o644)
      content.write(to: file)
      close(file)
      touch("\(destination)/\(root)/old", at: 900_000_000 + below(90_000_000))
      touch("\(destination)/\(root)", at: 900_000_000 + below(90_000_000))
      made.append(content)
    }
  }

  /// How many items were removed that a source has as they had arrived.
  func removed(from source: Source, number: Int) -> Int {
    (removed[number] ?? [:]).count { source.tree.items[$0.key] == $0.value }
  }

  /// The new device's user works with what has arrived.
  mutating func change(_ destination: String, knowing sources: inout [Source]) {
    let tree = Tree(destination)
    removed = [:]
    for (name, item) in tree.items.sorted(by: { $0.key < $1.key })
    where item.mode & S_IFMT == S_IFREG && !name.hasPrefix(".peer-") && below(6) == 0 {
      let path = "\(destination)/\(name)"
      world_say("touches or removes \(path)")
      made.removeAll { $0 == item.content }
      unlink(path)
      for index in sources.indices {
        for (other, sent) in sources[index].tree.items where sent.content == item.content {
          sources[index].settled[other] = sent.content
        }
      }
      guard below(2) == 0 else {
        for index in sources.indices where sources[index].wasSent && sources[index].tree.items[name] == item {
          removed[index, default: [:]][name] = item
        }
        continue
      }
      let content = generator.data(1 + below(3000))
      let file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o644)
      content.write(to: file)
      close(file)
      touch(path, at: 900_000_000 + below(90_000_000))
      made.append(content)
    }
  }

  private func touch(_ path: String, at second: Int) {
    let time = timespec(tv_sec: second, tv_nsec: 0)
    utimensat(AT_FDCWD, path, [time, time], 0)
    var status = stat()
    if lstat(path, &status) == 0 { world_touch(UInt64(status.st_ino)) }
  }

  /// What exists nowhere any more, of what either user has.
  func lost(of sources: [Source], in there: Tree) -> String? {
    let contents = Set(there.items.values.filter { $0.mode & S_IFMT == S_IFREG }.map(\.content))
    if made.contains(where: { !contents.contains($0) }) { return "what the new device's user has made is lost" }
    for source in sources where source.wasSent {
      for (path, item) in source.tree.items.sorted(by: { $0.key < $1.key })
      where item.mode & S_IFMT == S_IFREG && source.settled[path] == nil {
        // Only the records of a pairing tell that such a file has changed.
        if let before = source.hidden[path], world_happened(WORLD_PAIRED) > before { continue }
        if !contents.contains(item.content) { return "\(path) of \(source.folder) is lost" }
      }
    }
    return nil
  }
}
