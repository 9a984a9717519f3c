import CWorld
import Foundation

/// What a machine's disk holds for sure, and what it may hold besides: the content of its folders at one
/// moment, and the log of the changes and syncs since then.
struct Disk {
  private struct Node {
    var mode: UInt32
    var modified: timespec?
    var content = Data()
    var target: [UInt8] = []
    /// The items of a folder, by their names.
    var entries: [[UInt8]: UInt64] = [:]

    var kind: UInt32 { mode & S_IFMT }
  }

  private struct Change {
    let entry: world_logged
    let bytes: UnsafeRawBufferPointer
    /// Whether a sync has made it durable.
    var isDurable = false
    /// Whether a sync has made durable that it is there, while the bytes are lost.
    var isHollow = false

    var kind: world_change { world_change(rawValue: entry.kind) }
    /// The file or folder whose sync makes it durable.
    var subject: UInt64 { kind == world_entry ? entry.folder : entry.file }
  }

  /// Their paths, each with the zero at its end.
  private let folders: [[CChar]]
  private var nodes: [UInt64: Node] = [:]
  /// The folders' own numbers.
  private var tops: [UInt64] = []
  private var begin: UInt64 = 0

  /// Everything in the folders is durable.
  init(_ folders: [String]) {
    self.folders = folders.map { Array($0.utf8CString) }
    look()
  }

  /// Everything in the folders is durable, as at the beginning.
  mutating func look() {
    nodes = [:]
    tops = folders.map { look(at: $0) }
    _ = world_log(&begin)
  }

  private mutating func look(at path: [CChar]) -> UInt64 {
    var status = stat()
    guard lstat(path, &status) == 0 else { fatalError("an item is not there") }
    var node = Node(mode: status.st_mode, modified: status.st_mtim)
    switch node.kind {
    case S_IFDIR: for name in Tree.names(at: path) { node.entries[name] = look(at: Tree.path(path, name)) }
    case S_IFLNK: node.target = Tree.target(path)
    default: node.content = Tree.content(path, Int(status.st_size))
    }
    nodes[UInt64(status.st_ino)] = node
    return UInt64(status.st_ino)
  }

  /// The machine, whose processes are these, has lost its power: its folders hold what was synced, and of
  /// the rest what the seed decides.
  mutating func losePower(of processes: Set<CInt>) {
    var changes = changes(by: processes)
    markDurable(&changes)
    // Of the changes of one file or folder those are left that came first; content is written in any order.
    let mood = world_draw(4)
    var ended: Set<UInt64> = []
    var index = 0
    while index < changes.count {
      let change = changes[index]
      let joined = change.kind == world_entry && change.entry.b == 1 && index + 1 < changes.count ? 1 : 0
      var isLeft = change.isDurable || (joined == 1 && changes[index + 1].isDurable)
      if !isLeft, mood > 0, !ended.contains(change.subject) {
        isLeft = mood == 1 || world_draw(2) == 0
        if !isLeft, change.kind != world_content { ended.insert(change.subject) }
      }
      if !isLeft, change.isHollow {
        edit(change.entry.file) { node in
          let end = Int(change.entry.a) + change.bytes.count
          if node.content.count < end { node.content.append(Data(count: end - node.content.count)) }
        }
      }
      if isLeft { for place in index...index + joined { apply(changes[place]) } }
      index += 1 + joined
    }
    build()
    look()
  }

  private func changes(by processes: Set<CInt>) -> [Change] {
    var (length, place, changes): (UInt64, UInt64, [Change]) = (0, begin, [])
    guard let log = world_log(&length) else { return [] }
    let header = UInt64(MemoryLayout<world_logged>.size)
    while place < length {
      let start = UnsafeRawPointer(log) + Int(place)
      let entry = start.load(as: world_logged.self)
      place += (header + entry.size + 7) / 8 * 8
      guard entry.kind == world_lost.rawValue || processes.contains(CInt(entry.process)) else { continue }
      changes.append(
        Change(entry: entry, bytes: UnsafeRawBufferPointer(start: start + Int(header), count: Int(entry.size))))
    }
    return changes
  }

  private func markDurable(_ changes: inout [Change]) {
    var (synced, isAllSynced): (Set<UInt64>, Bool) = ([], false)
    // What a sync makes durable of content that was written before.
    var (written, isAllWritten): (Set<UInt64>, Bool) = ([], false)
    // Content that was lost before a sync of everything.
    var (lost, hasLost): (Set<UInt64>, Bool) = ([], false)
    for index in changes.indices.reversed() {
      switch changes[index].kind {
      case world_synced:
        synced.insert(changes[index].entry.file)
        written.insert(changes[index].entry.file)
      case world_all_synced: (isAllSynced, isAllWritten, lost) = (true, true, [])
      case world_lost:
        written.remove(changes[index].entry.file)
        lost.insert(changes[index].entry.file)
        hasLost = true
      case world_content:
        changes[index].isDurable =
          written.contains(changes[index].subject) || isAllWritten && !lost.contains(changes[index].subject)
        changes[index].isHollow =
          hasLost && !changes[index].isDurable && (isAllSynced || synced.contains(changes[index].subject))
      default: changes[index].isDurable = isAllSynced || synced.contains(changes[index].subject)
      }
    }
  }

  private mutating func apply(_ change: Change) {
    let (entry, a) = (change.entry, Int(change.entry.a))
    switch change.kind {
    case world_content, world_hole:
      let count = change.kind == world_hole ? Int(entry.b) : change.bytes.count
      edit(entry.file) { node in
        node.modified = nil
        let end = change.kind == world_hole ? min(a + count, node.content.count) : a + count
        guard end > a else { return }
        if node.content.count < end { node.content.append(Data(count: end - node.content.count)) }
        if change.kind == world_hole {
          node.content.resetBytes(in: a..<end)
        } else {
          node.content.replaceSubrange(a..<end, with: change.bytes.baseAddress!, count: change.bytes.count)
        }
      }
    case world_size:
      edit(entry.file) { node in
        node.modified = nil
        if a < node.content.count { node.content.removeLast(node.content.count - a) }
        node.content.append(Data(count: a - node.content.count))
      }
    case world_mode: edit(entry.file) { $0.mode = $0.kind | UInt32(a & 0o7777) }
    case world_time: edit(entry.file) { $0.modified = timespec(tv_sec: a, tv_nsec: Int(entry.b)) }
    case world_entry:
      let parts = change.bytes.split(separator: 0, maxSplits: 1)
      let name = [UInt8](parts[0])
      if entry.file != 0, nodes[entry.file] == nil {
        nodes[entry.file] = Node(mode: UInt32(a), target: parts.count > 1 ? [UInt8](parts[1]) : [])
      }
      nodes[entry.folder, default: Node(mode: S_IFDIR | 0o700)].entries[name] = entry.file == 0 ? nil : entry.file
    default: break
    }
  }

  /// A change may be durable whose file's name is not.
  private mutating func edit(_ file: UInt64, _ body: (inout Node) -> Void) {
    var node = nodes[file] ?? Node(mode: S_IFREG | 0o600)
    body(&node)
    nodes[file] = node
  }

  /// Writes everything anew.
  private func build() {
    var made: [UInt64: [CChar]] = [:]
    for (folder, top) in zip(folders, tops) {
      for name in Tree.names(at: folder) { Tree.remove(Tree.path(folder, name)) }
      for (name, file) in sorted(top) { build(file, Tree.path(folder, name), &made) }
      date(top, folder)
    }
  }

  private func sorted(_ folder: UInt64) -> [(name: [UInt8], file: UInt64)] {
    (nodes[folder]?.entries ?? [:]).map { ($0.key, $0.value) }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  private func build(_ file: UInt64, _ path: [CChar], _ made: inout [UInt64: [CChar]]) {
    guard let node = nodes[file] else { return }
    if let other = made[file] {
      // A folder has one name.
      if node.kind != S_IFDIR { link(other, path) }
      return
    }
    made[file] = path
    switch node.kind {
    case S_IFDIR:
      mkdir(path, 0o700)
      for (name, item) in sorted(file) { build(item, Tree.path(path, name), &made) }
    case S_IFLNK: symlink(String(decoding: node.target, as: UTF8.self), path)
    default:
      let opened = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
      node.content.write(to: opened)
      close(opened)
    }
    if node.kind != S_IFLNK { chmod(path, node.mode & 0o7777) }
    date(file, path)
    var status = stat()
    if lstat(path, &status) == 0 { world_replace(file, UInt64(status.st_ino)) }
  }

  private func date(_ file: UInt64, _ path: [CChar]) {
    guard let time = nodes[file]?.modified else { return }
    utimensat(AT_FDCWD, path, [time, time], AT_SYMLINK_NOFOLLOW)
  }
}
