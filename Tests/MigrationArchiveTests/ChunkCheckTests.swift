import Expectations
import Foundation
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@Suite struct ChunkCheckTests {
  @Test func `the lanes of nothing are zero, and one word is the CRC-32C of RFC 3720`() {
    expect(checkLanes(of: Span()) == (0, 0, 0))
    let digits = Array("123456789".utf8)
    // The ninth digit is the second lane's.
    expect(checkLanes(of: digits.span.extracting(..<8)).0, is: 0x6087_809A)
    let zeros = [UInt8](repeating: 0, count: 96)
    let lanes = checkLanes(of: zeros.span)
    expect(lanes == (0x8A91_36AA, 0x8A91_36AA, 0x8A91_36AA))
  }

  @Test func `the table gives what the processor's instruction gives, for every length and alignment`() {
    let bytes = pattern(4200)
    for length in Array(0...100) + [1023, 4096] {
      for start in 0..<8 {
        let part = bytes.span.extracting(start..<start + length)
        expect(checkLanes(of: part) == checkLanes(of: part, isPlain: true), "\(length) bytes at \(start)")
      }
    }
  }

  @Test func `checks agree with the second implementation's`() throws {
    let keys = TransferKeys(hashKey: 0x5051_5253_5455_5657_5859_5A5B_5C5D_5E5F)
    var checks: Set<ChunkCheck> = []
    for line in try vectors() {
      let words = line.split(separator: " ").map(String.init)
      let (offset, length) = (try #require(UInt64(words[1])), try #require(UInt64(words[2])))
      let isHole = words[0] == "3"
      let data =
        words[5] == "counted"
        ? (0..<(isHole ? 0 : length)).map { UInt8(truncatingIfNeeded: $0) } : try bytes(words[5])
      let place = FilePiece(
        path: try ArchivePath(try bytes(words[4])), generation: try #require(UInt128(words[3], radix: 16)),
        range: offset..<offset + length, isHole: isHole)
      let lanes = checkLanes(of: data.span)
      expect([lanes.0, lanes.1, lanes.2].map(\.hexadecimal).joined(), is: words[7], "\(line)")
      let check = keys.check(place, data.span)
      expect(check.hexadecimal, is: words[8], "\(line)")
      checks.insert(check)
    }
    expect(checks.count, is: 35)
  }

  private func vectors() throws -> [String] {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../MigrationWireTests/Vectors/checks.txt")
    return try String(contentsOf: path, encoding: .utf8).split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("#") && $0.split(separator: " ").count == 9 }
  }

  private func bytes(_ hexadecimal: String) throws -> [UInt8] {
    let digits = Array(hexadecimal)
    return try stride(from: 0, to: digits.count, by: 2).map {
      try #require(UInt8(String(digits[$0..<$0 + 2]), radix: 16))
    }
  }
}
