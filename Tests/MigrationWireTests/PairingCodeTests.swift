import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct PairingCodeTests {
  private func mistake(_ text: String) -> PairingCode.Mistake? {
    do {
      _ = try PairingCode(typed: ascii(text))
      return nil
    } catch { return error }
  }

  @Test func `Damm's digits are the known ones`() {
    for (digits, interim) in [("572", 4), ("4829136", 7), ("5724", 0)] as [(String, UInt8)] {
      expect(digits.utf8.reduce(0) { PairingCode.check($0, $1 - UInt8(ascii: "0")) }, is: interim)
    }
  }

  /// The table of Protocol §4.3: one row per interim digit, one column per digit read.
  private static let table = [
    "0317598642", "7092154863", "4206871359", "1750983426", "6123045978", "3674209581", "5869720134", "8945362017",
    "9438617205", "2581436790",
  ].map { $0.utf8.map { Int($0 - UInt8(ascii: "0")) } }

  @Test func `the table is the document's`() {
    for interim in 0..<10 {
      for digit in 0..<10 {
        expect(Int(PairingCode.check(UInt8(interim), UInt8(digit))), is: Self.table[interim][digit])
      }
    }
  }

  @Test func `the document's table finds every wrong digit and every swap of neighbours`() {
    let table = Self.table
    for one in 0..<10 {
      expect(Set(table[one]).count == 10 && Set(table.map { $0[one] }).count == 10 && table[one][one] == 0)
      for other in 0..<10 where other != one {
        expect((0..<10).allSatisfy { table[table[$0][one]][other] != table[table[$0][other]][one] })
      }
    }
  }

  @Test func `a code has seven free digits and their check digit`() {
    expect(PairingCode(number: 4_829_136).shown, is: "4829-1367")
    expect(PairingCode(number: 0).shown, is: "0000-0000")
    expect(PairingCode(number: 9_999_999).digits.count, is: 8)
    expect(PairingCode(number: 42).digits.starts(with: ascii("0000042")))
  }

  @Test(arguments: ["48291367", "4829-1367", "4829 1367", " 4-8-2-9 1 3 6 7 ", "4829-1367\n", "----48291367"])
  func `spaces and dashes are ignored`(text: String) throws {
    expect(try PairingCode(typed: ascii(text)), is: PairingCode(number: 4_829_136))
  }

  @Test(arguments: [
    "", "-", "4829136", "482913670", "4829136a", "4829_1367", "4829.1367", "+48291367", "٤٨٢٩١٣٦٧", "４８２９１３６７",
    "4829\u{2013}1367",
    "4829\u{A0}1367", "4829136\u{0}", "48291367\u{0}",
  ])
  func `every text except eight ASCII digits is malformed`(text: String) {
    expect(mistake(text), is: .malformed)
  }

  @Test(arguments: [0, 4_829_136, 1_234_567, 9_999_999, 572] as [UInt32])
  func `every wrong digit and every swap of two neighbours is found`(number: UInt32) {
    let code = PairingCode(number: number).digits
    for index in code.indices {
      for digit in ascii("0123456789") where digit != code[index] {
        var typed = code
        typed[index] = digit
        expect(mistake(String(decoding: typed, as: UTF8.self)), is: .mistyped)
      }
      guard index + 1 < code.count, code[index] != code[index + 1] else { continue }
      var typed = code
      typed.swapAt(index, index + 1)
      expect(mistake(String(decoding: typed, as: UTF8.self)), is: .mistyped)
    }
  }

  @Test func `a shown code can be typed`() throws {
    var random = Seeded(5)
    for _ in 0..<1_000 {
      let code = PairingCode(number: UInt32.random(in: 0..<10_000_000, using: &random))
      expect(try PairingCode(typed: ascii(code.shown)), is: code)
    }
  }

  @Test(arguments: [
    "01000b5045455201020100000000", "01000b5045455201010000000000", "01000b5045455201010400000000",
    "01000b5045455201010100000001", "01000b5045455801010100000000", "01000a50454552010101000000",
    "02000b5045455201010100000000",
    "0100", "", "08000100", "0f000100", "0f000108", "0f00020101", "07000100", "0300400400", "050020",
  ])
  func `a frame before READY that is not exactly one is refused`(hex: String) {
    let frame = bytes(hex: hex)
    let isLater = hex == "01000b5045455201020100000000"
    expect((violation { () throws(Violation) in _ = try PairingFrame(frame.span) } == nil), is: isLater)
  }

  @Test func `versions that descend are refused`() {
    let frame = bytes(hex: "01000b5045455202010100000000")
    expect(violation { () throws(Violation) in _ = try PairingFrame(frame.span) }, is: .value)
  }

  @Test func `only ABORT 4 and 5 have something behind the reason, each in its own length`() {
    for reason in 0...8 as ClosedRange<UInt8> {
      let lengths = (1...4).filter { count in
        let frame = [0x0F, 0, UInt8(count), reason, 2, 0, 3].prefix(3 + count)
        return (try? PairingFrame(Array(frame).span)) != nil
      }
      let known: [UInt8: [Int]] = [0: [], 4: [4], 5: [3], 8: []]
      expect(lengths, is: known[reason] ?? [1], "\(reason)")
    }
  }

  @Test func `ABORT says when to come again, and the versions of this program`() {
    expect(PairingFrame.abort(saying: .busy).bytes, is: [0x0F, 0, 4, 4, 0, 0, 0])
    expect(PairingFrame.abort(saying: .version).bytes, is: [0x0F, 0, 3, 5, 3, 3])
    expect(PairingFrame.abort(saying: .unknownPeer).bytes, is: [0x0F, 0, 1, 7])
  }

  @Test func `the length of a frame before READY is known from three bytes`() throws {
    for type in 0...255 as ClosedRange<UInt8> {
      let lengths = (0...70 as ClosedRange<UInt8>).filter { (try? PairingFrame.length([type, 0, $0].span)) != nil }
      let known: [UInt8: [UInt8]] = [1: [11], 2: [10], 3: [65], 4: [65], 5: [32], 6: [32], 7: [0], 15: [1, 3, 4]]
      expect(lengths, is: known[type] ?? [])
    }
    #expect(throws: Violation.self) { try PairingFrame.length([1, 0xFF, 0xFF].span) }
  }
}
