import Expectations
import Testing

@testable import MigrationTLS

@Suite struct RandomTests {
  @Test func `random bytes have the requested length and do not repeat`() {
    expect(randomBytes(0).isEmpty)
    expect(randomBytes(37).count, is: 37)
    expect(Set((0..<100).map { _ in randomBytes(16) }).count, is: 100)
  }

  @Test func `random digits stay below ten million and reach both ends`() {
    let numbers = (0..<10_000).map { _ in randomSevenDigitNumber() }
    expect(numbers.allSatisfy { (0..<10_000_000).contains($0) })
    expect(numbers.min()! < 100_000)
    expect(numbers.max()! > 9_900_000)
  }

  @Test func `a word that would favour small numbers is drawn again`() {
    var words: [UInt32] = [4_294_967_295, 4_290_000_000, 4_289_999_999]
    expect(uniform(below: 10_000_000) { words.removeFirst() }, is: 9_999_999)
    expect(words.isEmpty)
  }

  @Test func `every number below the bound comes up equally often`() {
    var word: UInt32 = 0
    var counts = [0, 0, 0]
    for _ in 0..<300 {
      counts[
        uniform(below: 3) {
          defer { word += 1 }
          return word
        }] += 1
    }
    expect(counts, is: [100, 100, 100])
  }
}
