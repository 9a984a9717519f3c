import Expectations
import TestSupport
import Testing

@testable import MigrationApps

@Suite struct TextSearchTests {
  private func places(_ text: String, in content: String) -> [Int] {
    TextSearch(Array(text.utf8)).places(in: Array(content.utf8))
  }

  @Test func `a text is found at each of its places, also inside of another one`() {
    expect(places("abab", in: "ababab"), is: [0, 2])
    expect(places("a", in: "aab"), is: [0, 1])
    expect(places("ab", in: "").isEmpty)
  }

  @Test func `one pass finds what a look at each place finds`() {
    for seed in 0..<UInt64(Rounds.count * 50) {
      var generator = Generator(seed: seed)
      func text(_ lengths: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: lengths, using: &generator)).map { _ in UInt8.random(in: 97...98, using: &generator) }
      }
      let (text, content) = (text(1...7), text(0...60))
      let expected = content.indices.filter { content[$0...].starts(with: text) }
      expect(TextSearch(text).places(in: content), is: expected, "seed \(seed)")
    }
  }
}
