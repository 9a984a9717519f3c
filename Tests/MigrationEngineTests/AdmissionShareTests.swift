import Expectations
import Testing

@testable import MigrationEngine

/// The counts of connections per address.
@Suite struct AdmissionShareTests {
  @Test func `a connection counts in the accept queue, then inside, and then not at all`() {
    var shares = AdmissionShares<String>()
    let indices = (0..<3).map { _ in shares.arrive("a") }
    expect(Set(indices).count, is: 1)
    let index = indices[0]
    shares.enter(index)
    shares.enter(index)
    expect(shares.inside(index) == 2 && shares[index].all == 3)
    shares.leave(index, isInside: true)
    expect(shares.inside(index) == 1 && shares[index].all == 2)
    shares.leave(index, isInside: false)
    expect(shares.inside(index) == 1 && shares[index].all == 1)
  }

  @Test func `an address reuses the entry of an address without connections`() {
    var shares = AdmissionShares<String>()
    let (first, second) = (shares.arrive("a"), shares.arrive("b"))
    shares.enter(first)
    shares.leave(first, isInside: true)
    let next = shares.arrive("c")
    expect(next == first && shares.inside(next) == 0 && shares[next].all == 1)
    let known = [shares.arrive("c"), shares.arrive("b")]
    expect(known, is: [first, second])
    // An address that comes back is counted anew.
    let again = shares.arrive("a")
    expect(!known.contains(again) && shares[again].all == 1)
    for _ in 0..<2 { shares.leave(next, isInside: false) }
    let others = [shares.arrive("d"), shares.arrive("c")]
    expect(Set(others + [second, again]).count, is: 4)
  }
}
