import Expectations
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// The work that readers get, and its order.
@Suite struct WorkListTests {
  /// A tree of folders with these numbers of files, every file of `size` bytes; the folders come
  /// first.
  private func tree(_ counts: [Int], size: Int64 = 10) -> SourceTree {
    var tree = SourceTree()
    let names = (0..<max(counts.count, counts.max() ?? 0)).map { Array(String($0).utf8) }
    func status(_ kind: FileKind) -> FileStatus {
      let time = Timestamp(seconds: 1, nanoseconds: 0)
      return FileStatus(
        kind: kind, mode: 0o644, size: kind == .regular ? size : 0, allocatedBytes: size, device: 1, inode: 1,
        linkCount: 1, modified: time, changed: time)
    }
    func add(_ name: Int, _ kind: FileKind, _ itemKind: ItemKind, in parent: Int32) -> Int {
      let name = names[name]
      return tree.add(name.span, status(kind), kind: itemKind, parent: parent)
    }
    let folders = counts.indices.map { add($0, .directory, .directory, in: -1) }
    for (folder, count) in zip(folders, counts) {
      for name in 0..<count { _ = add(name, .regular, .file, in: Int32(folder)) }
    }
    return tree
  }

  private func next(_ list: inout WorkList, _ reader: Int, now: Double = 0, written: UInt64 = 0) -> WorkList.Work {
    list.next(for: reader, now: now, written: written)
  }

  private func run(_ work: WorkList.Work) -> Range<Int>? { if case .run(_, let items) = work { items } else { nil } }

  @Test(arguments: [1, 2, 3, 16])
  func `every item is handed out once, regardless of the order of the readers' requests`(readers: Int) throws {
    var dice = Generator(seed: UInt64(readers))
    let tree = tree([0, 700, 3, 3, 3, 1, 2_000, 5])
    var list = WorkList(readers: readers)
    let batch = list.add(tree)
    var seen: [Int] = []
    var hands: [Int: Range<Int>] = [:]
    while !list.isEmpty {
      let reader = Int.random(in: 1...readers, using: &dice)
      if let done = hands.removeValue(forKey: reader) { list.done(done.count, of: batch) }
      guard let items = run(next(&list, reader)) else { continue }
      expect(items.count <= WorkList.run.items)
      seen += items
      hands[reader] = items
    }
    expect(seen.sorted(), is: Array(tree.nodes.indices))
    expect(list.isDone(batch) && list.waitingFrames(of: 1_000, now: 0) == 0)
  }

  @Test func `two readers are in different folders as long as there are two`() throws {
    let tree = tree([600, 600])
    var list = WorkList(readers: 2)
    _ = list.add(tree)
    var folders: [Int: [Int32]] = [:]
    for _ in 0..<4 {
      for reader in 1...2 {
        let items = try #require(run(next(&list, reader)))
        folders[reader, default: []] += items.map { tree.nodes[$0].parent }
      }
    }
    expect(Set(folders[1] ?? []).intersection(folders[2] ?? []).subtracting([-1]).isEmpty)
  }

  @Test func `a reader without work takes half of the rest of another reader's folder`() throws {
    let tree = tree([1_000])
    var list = WorkList(readers: 2)
    _ = list.add(tree)
    let first = try #require(run(next(&list, 1)))
    let second = try #require(run(next(&list, 2)))
    expect(first.lowerBound == 0 && second.lowerBound > 400 && second.lowerBound < 700)
  }

  @Test func `a run has few items if files are large`() throws {
    var list = WorkList(readers: 1)
    _ = list.add(tree([100], size: 300_000))
    expect(run(next(&list, 1))?.count, is: 5, "the folder, and four files that make a megabyte")
  }

  @Test func `merged items are not waited for`() {
    var list = WorkList(readers: 1)
    let batch = list.add(tree([1]), merged: [0])
    expect(run(next(&list, 1)), is: 0..<2)
    let isLast = list.done(1, of: batch)
    expect(isLast && list.isEmpty)
    let nothing = list.add(SourceTree())
    expect(list.isDone(nothing), "an empty batch is done immediately")
  }

  @Test func `a postponed item is handed out when it is due, also to another reader`() throws {
    var list = WorkList(readers: 2)
    let batch = list.add(tree([1]))
    let items = try #require(run(next(&list, 1)))
    let item = WorkList.Item(batch: batch, index: 1)
    list.postpone(item, WorkList.Tries(looks: 1), until: 5)
    expect(next(&list, 2, now: 4), is: .nothing(until: 5))
    expect(next(&list, 2, now: 5), is: .again(item, WorkList.Tries(looks: 1)))
    list.done(items.count, of: batch)
    expect(list.isEmpty)
  }

  @Test func `changing items are tried when the rest is done, after a pause, and behind the frames with their parts`()
    throws
  {
    var list = WorkList(readers: 2)
    let batch = list.add(tree([2]))
    let items = try #require(run(next(&list, 1)))
    let item = WorkList.Item(batch: batch, index: 1)
    list.changed(item, WorkList.Tries(reads: 1), lastFrame: 7)
    expect(next(&list, 2), is: .nothing(until: nil), "another reader has the item")
    list.done(items.count - 1, of: batch)
    expect(next(&list, 2, now: 10), is: .nothing(until: 10.02))
    expect(next(&list, 2, now: 11, written: 7), is: .nothing(until: nil), "frame 7 is not written")
    expect(next(&list, 2, now: 11, written: 8), is: .again(item, WorkList.Tries(reads: 1)))
    list.changed(item, WorkList.Tries(reads: 2), lastFrame: 0)
    expect(next(&list, 1, now: 11, written: 8), is: .nothing(until: 11.1))
    expect(next(&list, 1, now: 11.1, written: 8), is: .again(item, WorkList.Tries(reads: 2)))
    list.done(1, of: batch)
    expect(list.isEmpty)
  }

  @Test func `readers without other work join a large file, which is complete when the last reader leaves it`()
    throws
  {
    var list = WorkList(readers: 3)
    let batch = list.add(tree([1]))
    _ = next(&list, 1)
    let file = list.opened(WorkList.Item(batch: batch, index: 1), after: nil)
    expect(next(&list, 2) == .file(file) && next(&list, 3) == .file(file))
    list.exhausted(file)
    let lasts = (1...3).map { _ in list.left(file) }
    expect(lasts, is: [false, false, true])
    list.done(2, of: batch)
    expect(list.isEmpty)
  }

  @Test func `a file that must follow a frame is read when that frame is written`() throws {
    var list = WorkList(readers: 1)
    let batch = list.add(tree([1]))
    _ = next(&list, 1)
    let file = list.opened(WorkList.Item(batch: batch, index: 1), after: 3)
    expect(next(&list, 1, written: 3), is: .nothing(until: nil))
    expect(next(&list, 1, written: 4), is: .file(file))
    list.exhausted(file)
    let isLast = list.left(file)
    expect(isLast)
  }

  @Test func `batches are read concurrently`() throws {
    var list = WorkList(readers: 2)
    let (one, two) = (list.add(tree([1])), list.add(tree([1])))
    expect(next(&list, 1), is: .run(one, 0..<2))
    expect(next(&list, 2), is: .run(two, 0..<2))
    list.done(2, of: two)
    expect(list.isDone(two) && !list.isDone(one) && !list.isEmpty)
  }
}

/// The names of files with several names.
@Suite struct LinkedNamesTests {
  @Test func `a name that leads to another file now releases its content`() {
    var names = LinkedNames()
    expect(names.carrier(1, 10), is: .mine)
    expect(names.carrier(2, 20), is: .mine)
    // The first is looked at once more, and now has the generation that the second carries.
    expect(names.carrier(1, 20), is: .others)
    expect(names.carrier(3, 10), is: .mine)
  }

  /// The carriers of names of one generation, in this order.
  private func carriers(_ names: inout LinkedNames, _ asked: [(Int, Generation)]) -> [LinkedNames.Carrier] {
    asked.map { names.carrier($0.0, $0.1) }
  }

  @Test func `the first name carries the content, and the others link to it when it is sent`() {
    var names = LinkedNames()
    let before = carriers(&names, [(1, 7), (1, 7), (2, 7)])
    expect(before, is: [.mine, .mine, .others])
    names.sent(1, 7)
    let after = carriers(&names, [(2, 7)])
    expect(after, is: [.sent(1)])
  }

  @Test func `a name that carries no content leaves it to another`() {
    var names = LinkedNames()
    _ = names.carrier(1, 7)
    names.released(1)
    let after = carriers(&names, [(2, 7), (1, 7)])
    expect(after, is: [.mine, .others])
  }

  @Test func `a name that turns out to be in another state links to that state`() {
    var names = LinkedNames()
    _ = names.carrier(1, 7)
    names.sent(1, 8)
    let after = carriers(&names, [(2, 7), (3, 8)])
    expect(after, is: [.mine, .sent(1)])
  }
}
