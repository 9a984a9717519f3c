import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Attempts of a hostile sender. Each gets a typed error, and no item outside staging is created or
/// changed.
@Suite struct RefusalTests {
  let scratch: Scratch
  let arrival: Arrival
  private let outside: TreeSnapshot

  init() throws {
    scratch = try Scratch.withFolders()
    outside = scratch.snapshot("outside")
    arrival = try Arrival(scratch, offer(["other", "root"], items: 4, bytes: 1000))
  }

  /// Writes the frames. All frames except the last must succeed; checks the result of the last.
  private func expectRefusal(
    _ expected: String, _ frames: [[UInt8]], finishing records: [ItemRecord]? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let writer = arrival.writer()
    let passing = records == nil ? frames.dropLast() : frames[...]
    for frame in passing { try writer.write(frame) }
    let got = failure {
      if let records {
        try arrival.staging.complete(finish(records)) { _ in }
      } else if let last = frames.last {
        try writer.write(last)
      }
    }
    expect(got, is: expected, sourceLocation: sourceLocation)
    try expectUntouched(sourceLocation: sourceLocation)
  }

  private func expectUntouched(sourceLocation: SourceLocation = #_sourceLocation) throws {
    expect(scratch.snapshot("outside").differences(from: outside), is: [], sourceLocation: sourceLocation)
    expect(
      scratch.names("destination"), is: [String(decoding: arrival.staging.disk.name, as: UTF8.self)],
      sourceLocation: sourceLocation)
    try arrival.clear()
    expect(scratch.names("destination"), is: [], sourceLocation: sourceLocation)
  }

  private func one(_ build: (inout Crafted) throws -> Void) throws -> [[UInt8]] { [try Crafted.frame(build)] }

  // MARK: Tags

  @Test func `changed bytes do not match their tag`() throws {
    let frames = [
      try Crafted.frame { try $0.chunk("root/f", 1, at: 0, [1, 2, 3]) },
      Crafted.frame { $0.file(try! record("root/f", .file(size: 3)), [1, 2, 3]) },
    ]
    for var frame in frames {
      frame[frame.count - 1] ^= 1
      expect(failure { try arrival.writer().write(frame) }, is: violation(.check))
    }
    expect(scratch.names(arrival.tree), is: [])
    try expectUntouched()
  }

  @Test func `no bit of an entry's place or check can be flipped`() throws {
    let chunk = try Crafted.frame { try $0.chunk("root/f", 1, at: 0, [1, 2, 3]) }
    let hole = try Crafted.frame { try $0.hole("root/f", 1, at: 0, 3) }
    // After the type byte: with a flipped type the entry is another one.
    for frame in [chunk, hole] {
      for bit in 8..<frame.count * 8 {
        var flipped = frame
        flipped[bit / 8] ^= 1 << (bit % 8)
        let result = failure { try arrival.writer().write(flipped) }
        expect(result?.hasPrefix("violation"), is: true, "bit \(bit)")
      }
    }
    expect(scratch.names(arrival.tree), is: [])
    try expectUntouched()
  }

  @Test(arguments: [("root/g", 1, 0, 4), ("root/f", 2, 0, 4), ("root/f", 1, 4, 4), ("root/f", 1, 0, 3)])
  func `bytes that were checked for another place are refused`(
    _ path: String, _ generation: Generation, _ offset: UInt64, _ length: UInt64
  ) throws {
    let other = try place(path, generation, offset, length)
    try expectRefusal(
      violation(.check), one { try $0.chunk("root/f", 1, at: 0, [1, 2, 3, 4], checkedFor: other) })
  }

  @Test func `the violation of a wrong check names the place and both values`() throws {
    let other = try place("root/g", 1, 7, 2)
    let frame = try Crafted.frame { try $0.chunk("root/f", 1, at: 7, [8, 9], checkedFor: other) }
    var told: String?
    do {
      try arrival.writer().write(frame)
    } catch let violation as Violation {
      told = violation.detail
    }
    let words = (told ?? "").split { $0 == " " || $0 == "," }.map(String.init)
    try #require(words.count == 12, "\(told ?? "nothing")")
    expect(words[7...10] == ["at", "offset", "7", "of"] && words[11].contains("root/f"))
    expect(words[0].count == 16 && words[3].count == 16 && words[0] != words[3])
  }

  @Test func `a hole's check is not valid for a chunk`() throws {
    let other = try place("root/f", 1, 0, 4, isHole: true)
    try expectRefusal(violation(.check), one { try $0.chunk("root/f", 1, at: 0, [0, 0, 0, 0], checkedFor: other) })
  }

  // MARK: Contradictions

  @Test func `data behind the end of its file is refused`() throws {
    let item = try record("root/f", .file(size: 4))
    try expectRefusal(
      violation(.conflict), try one { $0.item(item) } + one { try $0.chunk("root/f", 1, at: 3, [1, 2]) })
  }

  @Test func `a record smaller than the received data is refused`() throws {
    let item = try record("root/f", .file(size: 4))
    try expectRefusal(
      violation(.conflict), try one { try $0.chunk("root/f", 1, at: 3, [1, 2]) } + one { $0.item(item) })
  }

  @Test func `a hole behind the end of its file is refused`() throws {
    let item = try record("root/f", .file(size: 4))
    try expectRefusal(violation(.conflict), try one { $0.item(item) } + one { try $0.hole("root/f", 1, at: 0, 5) })
  }

  @Test func `a range that is partly held is refused`() throws {
    try expectRefusal(
      violation(.conflict),
      try one { try $0.chunk("root/f", 1, at: 0, [1, 2, 3]) } + one { try $0.chunk("root/f", 1, at: 2, [3, 4]) })
  }

  @Test func `a second, different record is refused`() throws {
    let items = [try record("root/f", .file(size: 4)), try record("root/f", .file(size: 5))]
    try expectRefusal(violation(.conflict), try one { $0.item(items[0]) } + one { $0.item(items[1]) })
  }

  @Test func `a second, different record of a directory is refused`() throws {
    let items = [try record("root/d", .directory, mode: 0o700), try record("root/d", .directory, mode: 0o777)]
    try expectRefusal(violation(.conflict), try one { $0.item(items[0]) } + one { $0.item(items[1]) })
  }

  @Test(arguments: [0, 1, 2, 3, 4])
  func `a second generation of a complete path is refused`(_ kind: Int) throws {
    let first = try Crafted.frame { $0.file(try record("root/f", .file(size: 1), generation: 1), [1]) }
    let second = try Crafted.frame { frame in
      switch kind {
      case 0: frame.file(try record("root/f", .file(size: 1), generation: 2), [2])
      case 1: try frame.chunk("root/f", 2, at: 0, [2])
      case 2: frame.item(try link("root/f", to: "x", generation: 2))
      case 3: frame.item(try record("root/f", .directory, generation: 2))
      default: frame.item(try record("root/f", .file(size: 5), generation: 2))
      }
    }
    try expectRefusal(violation(.conflict), [first, second])
  }

  @Test func `an item inside a file is refused`() throws {
    let file = try record("root/f", .file(size: 0))
    try expectRefusal(violation(.conflict), try one { $0.item(file) } + one { try $0.chunk("root/f/x", 1, at: 0, [1]) })
  }

  @Test func `an item inside an incomplete file is refused`() throws {
    try expectRefusal(
      violation(.conflict),
      try one { try $0.chunk("root/f", 1, at: 0, [1]) } + one { $0.item(try record("root/f/x", .directory)) })
  }

  @Test func `a file in the place of a directory is refused`() throws {
    let items = [try record("root/d", .directory), try record("root/d", .file(size: 0), generation: 2)]
    try expectRefusal(violation(.conflict), try one { $0.item(items[0]) } + one { $0.item(items[1]) })
  }

  @Test func `a file in the place of a directory without a record is refused`() throws {
    let file = try record("root/d", .file(size: 0))
    try expectRefusal(
      violation(.conflict), try one { $0.item(try record("root/d/x", .directory)) } + one { $0.item(file) })
  }

  // MARK: Paths outside

  @Test(arguments: ["elsewhere", "elsewhere/x", "roo", "rootx", "Root/x", "journal", "tree/x"])
  func `a root that was not announced is refused`(_ path: String) throws {
    for frame in [
      try Crafted.frame { $0.item(try record(path, .directory)) },
      try Crafted.frame { try $0.chunk(path, 1, at: 0, [1]) },
      try Crafted.frame { try $0.hole(path, 1, at: 0, 1) },
      try Crafted.frame { $0.file(try record(path, .file(size: 1)), [1]) },
      try Crafted.frame { $0.item(try hardLink(path, to: "root/x")) },
      try Crafted.frame { $0.item(try link(path, to: "x")) },
    ] {
      expect(failure { try arrival.writer().write(frame) }, is: violation(.announcement))
    }
    expect(scratch.names(arrival.tree), is: [])
    try expectUntouched()
  }

  @Test(arguments: ["../x", "root/../../x", "/x", "root//x", "root/", "root/./x", "", "root/x\0y"])
  func `a path that leads outside is refused`(_ path: String) throws {
    // The honest encoder cannot write it, so another path is replaced, with its length.
    let (bytes, honest) = (Array(path.utf8), "root/x")
    var frame = try Crafted.frame { try $0.chunk(honest, 1, at: 0, [1]) }
    let start = 1 + 16 + 8 + 8
    frame.replaceSubrange(start...start + honest.utf8.count, with: [UInt8(bytes.count)] + bytes)
    let result = failure { try arrival.writer().write(frame) }
    expect(result?.hasPrefix("violation"), is: true)
    expect(scratch.names(arrival.tree), is: [])
    try expectUntouched()
  }

  @Test(arguments: ["up", "absolute"], 0..<6)
  func `no item is written through a link that was sent first`(_ kind: String, _ attempt: Int) throws {
    let target = kind == "up" ? "../../../../outside" : "\(scratch.path)/outside"
    let writer = arrival.writer()
    try writer.write(try Crafted.frame { $0.item(try link("root/out", to: target)) })
    let frames = [
      try Crafted.frame { $0.file(try record("root/out/planted", .file(size: 1)), [1]) },
      try Crafted.frame { try $0.chunk("root/out/secret", 1, at: 0, [1]) },
      try Crafted.frame { $0.item(try record("root/out/d", .directory)) },
      try Crafted.frame { $0.item(try record("root/out", .directory, generation: 2)) },
      try Crafted.frame { $0.item(try link("root/out/l", to: "x")) },
      try Crafted.frame { $0.item(try record("root/out", .file(size: 9), generation: 2)) },
    ]
    // The first failure ends a session, so each frame has a staging directory of its own.
    expect(failure { try writer.write(frames[attempt]) }, is: violation(.conflict))
    try expectUntouched()
  }

  @Test func `a link as the root is no way out either`() throws {
    let target = "\(scratch.path)/outside"
    let root = try link("root", to: target)
    try expectRefusal(
      violation(.conflict), try one { $0.item(root) } + one { $0.file(try record("root/secret", .file(size: 1)), [1]) })
  }

  @Test func `a hard link through a link is refused`() throws {
    let records = [try link("root/out", to: "\(scratch.path)/outside"), try hardLink("root/h", to: "root/out/secret")]
    try expectRefusal(violation(.conflict), one { for item in records { $0.item(item) } }, finishing: records)
  }

  @Test func `a hard link that would be made through a link is refused`() throws {
    let records = [
      try link("root/out", to: "\(scratch.path)/outside"), try record("root/f", .file(size: 0)),
      try hardLink("root/out/planted", to: "root/f"),
    ]
    try expectRefusal(violation(.conflict), one { for item in records { $0.item(item) } }, finishing: records)
  }

  @Test(arguments: ["root/unknown", "root/d", "root/s", "elsewhere/x", "other/x", "root/f/x"])
  func `a hard link to an item that is not a file of the archive is refused`(_ target: String) throws {
    let records = [
      try record("root/d", .directory), try link("root/s", to: "f"), try record("root/f", .file(size: 0)),
      try hardLink("root/h", to: target),
    ]
    let expected = target.hasPrefix("elsewhere") ? violation(.announcement) : violation(.conflict)
    try expectRefusal(expected, one { for item in records { $0.item(item) } }, finishing: records)
  }

  @Test(arguments: [false, true])
  func `a hard link to a hard link is refused, in either order`(_ isReversed: Bool) throws {
    let file = try record("root/f", .file(size: 0))
    let links = [try hardLink("root/h", to: "root/f"), try hardLink("root/i", to: "root/h")]
    let records = [file] + (isReversed ? links.reversed() : links)
    try expectRefusal(violation(.conflict), one { for item in records { $0.item(item) } }, finishing: records)
  }

  @Test func `a hard link in the place of a file is refused`() throws {
    let records = [
      try record("root/f", .file(size: 0)), try record("root/h", .file(size: 0)),
      try hardLink("root/h", to: "root/f", generation: 2),
    ]
    try expectRefusal(violation(.conflict), one { for item in records { $0.item(item) } })
  }

  // MARK: Links that another process planted in staging

  @Test func `no item is written through a planted parent`() throws {
    scratch.makeDirectory("\(arrival.tree)/root")
    scratch.makeLink("\(arrival.tree)/root/d", to: "\(scratch.path)/outside")
    let writer = arrival.writer()
    for frame in [
      try Crafted.frame { $0.file(try record("root/d/planted", .file(size: 1)), [1]) },
      try Crafted.frame { try $0.chunk("root/d/secret", 1, at: 0, [1]) },
      try Crafted.frame { $0.item(try record("root/d/e", .directory)) },
    ] {
      expect(failure { try writer.write(frame) }, is: "collision")
    }
    try expectUntouched()
  }

  @Test(arguments: 0..<4)
  func `a planted leaf is neither written through nor replaced`(_ attempt: Int) throws {
    scratch.makeDirectory("\(arrival.tree)/root")
    scratch.makeLink("\(arrival.tree)/root/f", to: "\(scratch.path)/outside/secret")
    let frames = [
      try Crafted.frame { $0.file(try record("root/f", .file(size: 1)), [1]) },
      try Crafted.frame { try $0.chunk("root/f", 1, at: 0, [1]) },
      try Crafted.frame { $0.item(try record("root/f", .file(size: 0), generation: 3)) },
      try Crafted.frame { $0.item(try record("root/f", .directory, generation: 3)) },
    ]
    expect(failure { try arrival.writer().write(frames[attempt]) }, is: "collision")
    try expectUntouched()
  }

  @Test func `a directory that is replaced by a link before its permissions are set keeps them inside`() throws {
    let directory = try record("root/d/e", .directory, mode: 0o777, modified: ItemTime(seconds: 1, nanoseconds: 0))
    try arrival.write([Crafted.frame { $0.item(directory) }])
    scratch.move("\(arrival.tree)/root/d", to: "\(arrival.tree)/root/moved")
    scratch.makeDirectory("outside/e")
    scratch.setMode("outside/e", 0o700)
    let before = scratch.snapshot("outside")
    scratch.makeLink("\(arrival.tree)/root/d", to: "\(scratch.path)/outside")
    expect(failure { try arrival.staging.complete(finish([directory])) { _ in } }, is: "storage")
    expect(scratch.snapshot("outside").differences(from: before), is: [])
  }

  @Test func `replacing a leaf directory by a link does not change the permissions of the link's target`() throws {
    let directory = try record("root/d", .directory, mode: 0o777, modified: ItemTime(seconds: 1, nanoseconds: 0))
    try arrival.write([Crafted.frame { $0.item(directory) }])
    scratch.move("\(arrival.tree)/root/d", to: "\(arrival.tree)/root/moved")
    scratch.makeLink("\(arrival.tree)/root/d", to: "\(scratch.path)/outside")
    let mode = TreeSnapshot.of(scratch.path, deep: false)["outside"]
    expect(failure { try arrival.staging.complete(finish([directory])) { _ in } }, is: "storage")
    expect(TreeSnapshot.of(scratch.path, deep: false)["outside"], is: mode)
  }

  // MARK: More than announced

  @Test func `more items than announced are refused`() throws {
    let writer = arrival.writer()
    let bound = try #require(Int(exactly: offer(items: 4).bound.items))
    for number in 0..<bound { try writer.write(try Crafted.frame { $0.item(try link("root/\(number)", to: "x")) }) }
    let frame = try Crafted.frame { $0.item(try link("root/last", to: "x")) }
    expect(failure { try writer.write(frame) }, is: violation(.announcement))
    try expectUntouched()
  }

  @Test func `more bytes than announced are refused, including holes`() throws {
    let bound = offer(bytes: 1000).bound.bytes
    let writer = arrival.writer()
    try writer.write(try Crafted.frame { try $0.hole("root/f", 1, at: 0, bound - 1) })
    expect(
      failure { try writer.write(try Crafted.frame { try $0.chunk("root/g", 1, at: 0, [1, 2]) }) },
      is: violation(.announcement))
    expect(
      failure { try writer.write(try Crafted.frame { $0.file(try record("root/g", .file(size: 2)), [1, 2]) }) },
      is: violation(.announcement))
    expect(
      failure { try writer.write(try Crafted.frame { try $0.hole("root/h", 1, at: 0, Limits.fileSize) }) },
      is: violation(.announcement))
    try expectUntouched()
  }

  @Test func `too many incomplete files are refused`() throws {
    let writer = arrival.writer()
    for number in 0..<Limits.incompleteFiles {
      try writer.write(try Crafted.frame { try $0.chunk("root/\(number)", 1, at: 0, [1]) })
    }
    expect(
      failure { try writer.write(try Crafted.frame { try $0.chunk("root/last", 1, at: 0, [1]) }) },
      is: violation(.limit))
    try arrival.clear()
  }

  // MARK: The end

  @Test func `an archive that differs from the sender's totals is not imported`() throws {
    let file = try record("root/f", .file(size: 2))
    try arrival.write([Crafted.frame { $0.file(file, [1, 2]) }])
    let right = finish([file])
    for wrong in [
      Finish(total: Tally(items: 2, bytes: 2), unsent: 0, digest: right.digest),
      Finish(total: Tally(items: 1, bytes: 3), unsent: 0, digest: right.digest),
      Finish(total: right.total, unsent: 0, digest: right.digest &+ 1),
    ] {
      expect(failure { try arrival.staging.complete(wrong) { _ in } }, is: violation(.conflict))
    }
    try expectUntouched()
  }

  @Test func `an incomplete file is not imported`() throws {
    let whole = try record("root/whole", .file(size: 1))
    let parts = [
      Crafted.frame { $0.file(whole, [1]) }, try Crafted.frame { try $0.chunk("root/part", 1, at: 0, [1]) },
      try Crafted.frame { $0.item(try record("root/bare", .file(size: 4))) },
    ]
    try arrival.write(parts)
    try arrival.finish(finish([whole]))
    expect(scratch.names("destination/root"), is: ["whole"])
    expect(scratch.openDescriptors() <= 5)
  }

  @Test func `sealed bytes in the place of a hole, and zero sizes, do no harm`() throws {
    let writer = arrival.writer()
    for frame in [
      try Crafted.frame { try $0.hole("root/f", 1, at: Limits.fileSize - 1, 1) },
      try Crafted.frame { try $0.chunk("root/f", 1, at: Limits.fileSize - 2, [1]) },
    ] {
      _ = failure { try writer.write(frame) }
    }
    try writer.write(try Crafted.frame { $0.item(try record("root/zero", .file(size: 0))) })
    expect(
      failure { try writer.write(try Crafted.frame { try $0.chunk("root/zero", 1, at: 0, [1]) }) } == nil,
      "a complete file accepts no more data, and further chunks are checked and ignored")
    expect(scratch.snapshot(arrival.tree)["root/zero"]?.size, is: 0)
    try writer.write([])
    try expectUntouched()
  }

  @Test func `a time that no file system holds is counted or approximated`() throws {
    let items = try [Int64.min, Int64.max, -1].enumerated().map { index, seconds in
      try record("root/\(index)", .file(size: 0), modified: ItemTime(seconds: seconds, nanoseconds: 999_999_999))
    }
    try arrival.write([Crafted.frame { for item in items { $0.item(item) } }])
    try arrival.finish(finish(items))
    expect(scratch.snapshot("destination")["root/2"]?.seconds, is: -1)
  }
}
