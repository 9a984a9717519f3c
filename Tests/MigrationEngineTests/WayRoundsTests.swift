import MigrationWire
import Testing

@testable import MigrationEngine

@Suite struct WayRoundsTests {
  @Test func `a session has three rounds, one at a time`() {
    var rounds = WayRounds()
    #expect(rounds.due == nil && rounds.begin(now: 0) == nil)
    rounds.told(WayFixture.ways)
    #expect(rounds.begin(now: 10) == [WayFixture.open, WayFixture.seen])
    #expect(rounds.due == nil && rounds.begin(now: 99) == nil)
    rounds.ended(now: 100)
    #expect(rounds.due == 105 && rounds.begin(now: 104) == nil)
    #expect(rounds.begin(now: 105) != nil)
    rounds.ended(now: 110)
    #expect(rounds.due == 140 && rounds.begin(now: 140) != nil)
    rounds.ended(now: 150)
    #expect(rounds.due == nil && rounds.begin(now: 1e9) == nil)
  }

  @Test func `the other end decides when a round begins in which this end takes part, and not how many`() {
    var rounds = WayRounds()
    #expect(rounds.join(WayFixture.ways, now: 1) == [WayFixture.open, WayFixture.seen])
    #expect(rounds.join(WayFixture.ways, now: 2) == nil)
    for moment in [3.0, 4] {
      rounds.ended(now: moment)
      #expect(rounds.join(WayFixture.ways, now: moment) != nil)
    }
    rounds.ended(now: 9)
    #expect(rounds.join(WayFixture.ways, now: 1e9) == nil)
  }

  @Test func `without an address that may be dialled there is no round`() {
    var rounds = WayRounds()
    #expect(rounds.join(Ways(listening: [WayFixture.loopback], dialling: []), now: 1) == nil)
    #expect(rounds.due == nil)
  }

  @Test func `a patient race goes on until its end`() {
    var race = AddressRace(count: 1, now: 0, patience: 5, isPatient: true)
    #expect(race.begin(now: 0) == 0)
    race.failed(0, by: .refused, now: 0.1)
    #expect(race.loss(now: 4.9) == nil && race.nextMoment == 5)
    #expect(race.loss(now: 5) == AddressRace.Loss(place: 0, obstacle: .refused))
  }
}
