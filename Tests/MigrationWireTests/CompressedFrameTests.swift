import Expectations
import Testing

@testable import MigrationWire

@Suite struct CompressedFrameTests {
  private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  private func front(_ bytes: [UInt8]) throws -> CompressedFrame { try CompressedFrame((Self.magic + bytes).span) }

  private func code(_ bytes: [UInt8], plainLength: Int = 1000) -> Violation.Code? {
    do throws(Violation) {
      try CompressedFrame(bytes.span).check(plainLength: plainLength)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `every way to write the size is understood`() throws {
    expect(try front([0x20, 7]).contentSize, is: 7)
    expect(try front([0x60, 7, 1]).contentSize, is: 256 + 263)
    expect(try front([0xA0, 1, 2, 3, 4]).contentSize, is: 0x0403_0201)
    expect(try front([0xE0, 1, 2, 3, 4, 5, 6, 7, 8]).contentSize, is: 0x0807_0605_0403_0201)
    expect(try front([0x00, 0]).contentSize == nil)
    expect(try front([0x40, 0, 0, 0]).contentSize, is: 256)
  }

  @Test func `the window is the stated one, or the whole of a single segment`() throws {
    expect(try front([0x00, 0x00]).window, is: 1024)
    expect(try front([0x00, 0x07]).window, is: 1024 + 7 * 128)
    expect(try front([0x00, 0x68]).window, is: 8 << 20)
    expect(try front([0x00, 0xFF]).window, is: 1 << 41 + 7 << 38)
    expect(try front([0xA0, 0, 0, 0, 1]).window, is: 1 << 24)
  }

  @Test func `a dictionary is seen wherever it is named, and number 0 is none`() throws {
    expect(try front([0x21, 5, 0]).usesDictionary)
    expect(try front([0x22, 0, 5, 0]).usesDictionary)
    expect(try front([0x23, 0, 0, 0, 5, 0]).usesDictionary)
    expect(try !front([0x23, 0, 0, 0, 0, 9]).usesDictionary)
    expect(try front([0x23, 0, 0, 0, 0, 9]).contentSize, is: 9)
  }

  @Test func `a frame with other content than a DATA frame may have is refused`() {
    expect(code(Self.magic + [0x60, 232, 2]) == nil)
    expect(code(Self.magic + [0x00, 0x68]) == nil)
    expect(code(Self.magic + [0x60, 233, 2]), is: .conflict)
    expect(code(Self.magic + [0x00, 0x69]), is: .limit)
    expect(code(Self.magic + [0x61, 1, 232, 2]), is: .value)
    expect(code(Self.magic + [0x08, 0x68]), is: .value)
    expect(code([0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0]), is: .unknown)
    expect(code([0x27, 0xB5, 0x2F, 0xFD, 0x00, 0x68]), is: .unknown)
  }

  @Test func `every prefix of a front is truncated`() {
    let front = Self.magic + [0xC3, 0x68, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8]
    for count in 0..<front.count { expect(code(Array(front[..<count])), is: .truncated) }
  }
}
