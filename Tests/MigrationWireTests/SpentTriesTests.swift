import Expectations
import MigrationWire
import Testing

@Suite struct SpentTriesTests {
  @Test func `a code has three tries, whatever others spend`() {
    var tries = SpentTries()
    for left in [2, 1, 0] {
      let isSpent = tries.spend(1)
      expect(isSpent && tries.left(1) == left)
      _ = tries.spend(UInt128(left) + 10)
    }
    let isSpent = tries.spend(1)
    expect(!isSpent && tries.left(1) == 0)
    expect(tries.left(2), is: 3)
  }

  @Test func `a try that the receiver has answered with its proof is given back, and no other one`() {
    var tries = SpentTries()
    _ = tries.spend(1)
    _ = tries.spend(1)
    tries.giveBack(1)
    expect(tries.left(1), is: 2)
    tries.giveBack(1)
    expect(tries.codes.isEmpty)
    tries.giveBack(1)
    expect(tries.left(1), is: 3)
  }

  @Test func `the codes that were tried longest ago are forgotten, from the two hundred and fifty-seventh on`() {
    var tries = SpentTries()
    for code in 0..<UInt128(SpentTries.most) { _ = tries.spend(code) }
    _ = tries.spend(0)
    _ = tries.spend(1_000)
    expect(tries.codes.count, is: SpentTries.most)
    expect((tries.left(0), tries.left(1), tries.left(2)) == (1, 3, 2))
    expect(SpentTries(tries.codes + [.init(check: 5_000, tries: 9)]).left(2), is: 3)
    expect(SpentTries([.init(check: 5_000, tries: 9)]).left(5_000), is: 0)
  }
}
