import Testing

@testable import MigrationSystem

@Suite struct ZstandardTests {
  @Test func `repeating bytes shrink to a frame of the format, and what does not fit is nothing`() throws {
    // Machines without the library compress nothing.
    guard let compressor = Zstandard() else { return }
    let zeros = [UInt8](repeating: 0, count: 100_000)
    var buffer = [UInt8](repeating: 0, count: 1000)
    let size = try #require(compressor.compress(zeros.span.bytes, into: &buffer))
    #expect(size < 100)
    #expect(buffer[..<4] == [0x28, 0xB5, 0x2F, 0xFD])

    let noise = try SystemRandom.bytes(2000)
    #expect(compressor.compress(noise.span.bytes, into: &buffer) == nil)
    let again = try #require(compressor.compress(zeros.span.bytes, into: &buffer))
    #expect(again == size)
  }
}
