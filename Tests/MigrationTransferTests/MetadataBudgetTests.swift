import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// Metadata without end from a paired device, and as much as an honest one may have.
@Suite struct MetadataBudgetTests {
  private static func offer(items: UInt64 = 1, flags: Offer.Flags = [], metadata: UInt64? = nil) -> Offer {
    Offer(
      contents: .folders([Attack.root]), items: items, bytes: 0, allocated: 0, flags: flags, metadata: metadata)
  }

  /// Sends one frame after the other, until the receiver has had enough; how that ended, and how
  /// much stayed on its disk.
  private func flood(
    _ attack: Attack, frames: UInt64, _ build: (UInt64, inout StrangeFrame, TransferKeys) throws -> Void
  ) throws -> (failure: TransferFailure?, code: Close.Code?, onDisk: Int) {
    var onDisk = 0
    let (failure, code) = try attack.misbehave { sender, stream, keys in
      for number in 0..<frames {
        // Making the frames may take longer than a control connection may be silent.
        try? sender.passOn()
        var frame = StrangeFrame()
        try build(number, &frame, keys)
        // It is closed before the last one.
        do { try stream.say(frame.frame(number)) } catch { break }
      }
    }
    for name in attack.surroundings.destination.names() {
      onDisk += Int(try FileManager.default.size(ofTree: attack.surroundings.destination.path + "/" + name))
    }
    attack.surroundings.expectNothingArrived()
    return (failure, code, onDisk)
  }

  /// Attributes that fill what a record may have of them, as they are written.
  private static let attributes = [0, 1].map { number in
    ExtendedAttribute(name: Array("user.\(number)".utf8), value: [UInt8](repeating: 7, count: 65_000))
  }

  private func full(_ path: String, _ body: ItemRecord.Body, _ generation: Generation = 1) throws -> ItemRecord {
    var full = try record(path, body, generation)
    full.attributes = Self.attributes
    return full
  }

  @Test func `fields of later versions beyond their bound are refused`() throws {
    let attack = try Attack(Self.offer(items: 600))
    let record = StrangeRecord(Array("root/d".utf8), .directory).bytes
    for length in [32_764, 1_200_000] {
      var writer = ByteWriter()
      writer.array(record)
      writer.u8(200)
      writer.varint(UInt64(length))
      writer.array([UInt8](repeating: 0, count: length))
      let failure = try attack.refused { frame, _ in frame.item(raw: writer.bytes) }
      #expect(failure?.message.contains("item's record exceeds its limit") == true, "\(failure.debugDescription)")
    }
    try attack.expectHarmless()
  }

  @Test(arguments: [(ItemRecord.Body.directory, nil), (.file(size: 0), 0)] as [(ItemRecord.Body, UInt64?)])
  func `metadata beyond the announced amount is refused`(body: ItemRecord.Body, metadata: UInt64?) throws {
    // One item, or one that is said to have no metadata: a quarter, and 16 MiB.
    let attack = try Attack(Self.offer(metadata: metadata))
    let (failure, code, onDisk) = try flood(attack, frames: 60) { number, frame, _ in
      for item in 0..<9 { frame.item(try full("root/\(number)-\(item)", body)) }
    }
    #expect(failure?.message.hasSuffix("the items' metadata is more than was announced") == true)
    #expect(code == .announcement)
    // In the journal, and in the files made from it.
    #expect(onDisk < 2 * (20 << 20))
    try attack.expectHarmless()
  }

  @Test func `one path in one state after the other is refused, of any kind`() throws {
    let attack = try Attack(Self.offer())
    for body in [.directory, .hardLink(target: try record("root/f", .directory).path)] as [ItemRecord.Body] {
      let (failure, code, onDisk) = try flood(attack, frames: 30) { number, frame, _ in
        for item in 0..<9 {
          let generation = Generation(number * 9) + Generation(item)
          frame.item(
            body == .directory
              ? try full("root/x", body, generation) : try record("root/x", body, generation))
        }
      }
      #expect(failure?.message.hasSuffix("a second state of an item contradicts an earlier statement") == true)
      #expect(code == .violation && onDisk < 1 << 20)
    }
    try attack.expectHarmless()
  }

  @Test func `a file in one state after the other without an end is refused`() throws {
    let attack = try Attack(Self.offer())
    let long = "root/" + (0..<8).map { _ in String(repeating: "n", count: 250) }.joined(separator: "/")
    let path = try ArchivePath(Array(long.utf8))
    let (failure, code, onDisk) = try flood(attack, frames: 100) { number, frame, keys in
      for item in 0..<100 as Range<UInt64> {
        let place = ChunkPlace(path: path, generation: Generation(number * 100 + item), range: 0..<1)
        frame.chunk(place, [1], keys)
      }
    }
    #expect(failure?.message.hasSuffix("is more than was announced") == true)
    #expect(code == .announcement && onDisk < 20 << 20)
    try attack.expectHarmless()
  }

  @Test func `pieces that bring nothing are refused, of the largest file that can be announced too`() throws {
    let attack = try Attack(
      Offer(
        contents: .folders([Attack.root]), items: 1, bytes: Limits.fileSize, allocated: 0, flags: [], metadata: 1_000))
    let long = "root/" + (0..<15).map { _ in String(repeating: "n", count: 250) }.joined(separator: "/")
    let path = try ArchivePath(Array(long.utf8))
    let (failure, code, onDisk) = try flood(attack, frames: 60) { number, frame, keys in
      for item in 0..<100 as Range<UInt64> {
        let start = (number * 100 + item) * 2
        frame.hole(ChunkPlace(path: path, generation: 1, range: start..<start + 1, isHole: true), keys)
      }
    }
    #expect(failure?.message.hasSuffix("the items' metadata is more than was announced") == true)
    #expect(code == .announcement && onDisk < 20 << 20)
    try attack.expectHarmless()
  }

  @Test func `an honest tree may have 128 KiB of attributes on every file and directory`() throws {
    let scratch = try Scratch()
    // More than the allowed addition to the offer.
    let count = 140
    for number in 0..<count {
      let name = number % 2 == 0 ? "tree/d\(number)" : "tree/f\(number)"
      if number % 2 == 0 { scratch.makeDirectory(name) } else { scratch.write(name, [1, 2, 3]) }
      for attribute in Self.attributes {
        guard try scratch.set(attribute, on: name) else { return }
      }
    }
    let destination = try Scratch("destination", in: scratch)
    let receiver = try RunningReceiver(destination)
    let sent = try send([scratch.at("tree")], to: try receiver.port(), code: try receiver.events.code())
    #expect(sent.unsent == 0 && sent.total.items == UInt64(count + 1))
    #expect(try receiver.result().total == sent.total)
    for name in ["tree/d0", "tree/d\(count - 2)", "tree/f1", "tree/f\(count - 1)"] {
      for attribute in Self.attributes {
        #expect(try destination.attribute(attribute.name, of: name) == attribute.value, "\(name)")
      }
    }
  }
}

extension FileManager {
  /// The disk space of everything below a path.
  fileprivate func size(ofTree path: String) throws -> Int64 {
    var sum: Int64 = 0
    for name in [""] + (try subpathsOfDirectory(atPath: path)) {
      var status = stat()
      guard lstat(path + "/" + name, &status) == 0 else { continue }
      sum += Int64(status.st_blocks) * 512
    }
    return sum
  }
}

extension Scratch {
  /// Sets an attribute; false where the file system holds none of that size.
  fileprivate func set(_ attribute: ExtendedAttribute, on name: String) throws -> Bool {
    do throws(SystemError) {
      try Descriptor.open(at(name)).setAttribute(attribute.name, attribute.value)
      return true
    } catch {
      try #require(error.isNoSpace || error.isUnsupported, "\(error)")
      return false
    }
  }

  fileprivate func attribute(_ name: [UInt8], of item: String) throws -> [UInt8]? {
    try Descriptor.open(at(item)).attribute(name)
  }
}
