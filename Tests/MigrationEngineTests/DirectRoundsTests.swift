import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

@Suite struct DirectRoundsTests {
  @Test func `a session has three rounds, one at a time`() {
    var (rounds, budget) = (DirectRounds(), AddressBudget())
    expect(rounds.due == nil && rounds.begin(within: &budget, now: 0) == nil)
    rounds.told(AddressFixture.addresses)
    expect(rounds.begin(within: &budget, now: 10), is: [AddressFixture.open, AddressFixture.seen])
    expect(rounds.due == nil && rounds.begin(within: &budget, now: 99) == nil)
    rounds.ended(now: 100)
    expect(rounds.due == 105 && rounds.begin(within: &budget, now: 104) == nil)
    expect(rounds.begin(within: &budget, now: 105) != nil)
    rounds.ended(now: 110)
    expect(rounds.due == 140 && rounds.begin(within: &budget, now: 140) != nil)
    rounds.ended(now: 150)
    expect(rounds.due == nil && rounds.begin(within: &budget, now: 1e9) == nil)
  }

  @Test func `the other end decides when a round begins in which this end takes part, and not how many`() {
    var (rounds, budget) = (DirectRounds(), AddressBudget())
    expect(
      rounds.join(AddressFixture.addresses, within: &budget, now: 1), is: [AddressFixture.open, AddressFixture.seen])
    expect(rounds.join(AddressFixture.addresses, within: &budget, now: 2) == nil)
    for moment in [3.0, 4] {
      rounds.ended(now: moment)
      expect(rounds.join(AddressFixture.addresses, within: &budget, now: moment) != nil)
    }
    rounds.ended(now: 9)
    expect(rounds.join(AddressFixture.addresses, within: &budget, now: 1e9) == nil)
  }

  @Test func `without an address that may be dialled there is no round`() {
    var (rounds, budget) = (DirectRounds(), AddressBudget())
    expect(rounds.join(Addresses(listening: [AddressFixture.loopback], dialling: []), within: &budget, now: 1) == nil)
    expect(rounds.due == nil)
  }

  @Test func `a round without an address in the budget is over, and the next one waits for its time`() {
    var (rounds, budget) = (DirectRounds(), AddressBudget())
    expect(budget.take(AddressBudget.most - 1, now: 0), is: AddressBudget.most - 1)
    expect(rounds.join(AddressFixture.addresses, within: &budget, now: 1), is: [AddressFixture.open])
    rounds.ended(now: 6)
    expect(rounds.begin(within: &budget, now: 11) == nil)
    expect(rounds.due, is: 41)
    expect(rounds.begin(within: &budget, now: 3_600), is: [AddressFixture.open, AddressFixture.seen])
  }

  @Test func `a budget is that of an hour, and whole behind it`() {
    var budget = AddressBudget()
    expect(budget.isWhole(now: 0))
    for moment in stride(from: 0.0, to: 60, by: 10) { expect(budget.take(16, now: moment), is: 16) }
    expect(budget.take(16, now: 60) == 0 && budget.take(1, now: 3_599) == 0)
    expect(budget.take(32, now: 3_610), is: 32)
    expect(!budget.isWhole(now: 7_209) && budget.isWhole(now: 7_210))
  }
}
