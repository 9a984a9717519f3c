import Expectations
import TestSupport
import Testing

@testable import MigrationApps

@Suite struct TextFinderTests {
  private func found(_ texts: [String], in content: String, where counts: (Int, Int) -> Bool = { _, _ in true })
    -> [[Int]]
  {
    TextFinder(texts.map { Array($0.utf8) }).occurrences(in: Array(content.utf8), where: counts)
      .map { [$0.start, $0.text] }
  }

  @Test func `the longest text that counts is found at each place, also inside of another one`() {
    expect(found(["ab", "abab", "b"], in: "ababab"), is: [[0, 1], [1, 2], [2, 1], [3, 2], [4, 0], [5, 2]])
    expect(found(["ab", "abab", "b"], in: "ababab") { text, _ in text == 0 }, is: [[0, 0], [2, 0], [4, 0]])
    expect(found(["ab", "ab"], in: "xabx"), is: [[1, 0]])
    expect(found([], in: "ab").isEmpty)
    expect(found(["ab"], in: "").isEmpty)
  }

  @Test func `one pass finds what a look at each place finds`() {
    for seed in 0..<UInt64(Rounds.count * 50) {
      var generator = Generator(seed: seed)
      func text(_ lengths: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: lengths, using: &generator)).map { _ in UInt8.random(in: 97...98, using: &generator) }
      }
      let texts = (0..<6).map { _ in text(1...7) }
      let content = text(0...60)
      let counts = { (text: Int, start: Int) in (text + start) % 3 > 0 }
      let expected = content.indices.compactMap { start -> [Int]? in
        let here = texts.indices.filter { texts.firstIndex(of: texts[$0]) == $0 }
          .filter { content[start...].starts(with: texts[$0]) && counts($0, start) }
        return here.max { texts[$0].count < texts[$1].count }.map { [start, $0] }
      }
      let all = TextFinder(texts).occurrences(in: content, where: counts).map { [$0.start, $0.text] }
      expect(all, is: expected, "seed \(seed)")
    }
  }
}
