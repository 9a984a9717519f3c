import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// Connections from their arrival to READY, as the receiver's engine decides.
@Suite struct ReceiverConnectionsTests {
  private typealias Script = ReceiverScript

  private func remote(_ host: String) -> Remote {
    Remote(host: host, network: host)
  }

  private func opened(_ known: [ReceiverEngine.EarlierTransfer] = []) -> Script {
    var script = Script()
    script.open(known)
    return script
  }

  // MARK: The accept queue

  @Test func `a connection is let in when its first record arrives, and dropped if it does not arrive`() {
    var script = opened()
    expect(script.feed(.arrived(Script.id(1), remote("a"), chance: 0)), is: [])
    expect(script.engine.nextMoment, is: ReadyLimits.acceptQueue)
    expect(script.feed(.arrived(Script.id(2), remote("b"), chance: 0), after: 1), is: [])
    expect(script.feed(.spoke(Script.id(2)), after: 1), is: ["greet 2 until 7.0, 12.0"])
    expect(script.feed(.timePassed, after: 3), is: ["drop 1"])
    expect(script.feed(.spoke(Script.id(1))), is: [])
    expect(script.engine.nextMoment, is: 600)
  }

  @Test func `a connection that leaves the accept queue by itself is not dropped again`() {
    var script = opened()
    _ = script.feed(.arrived(Script.id(1), remote("a"), chance: 0))
    expect(script.feed(.departed(Script.id(1))), is: [])
    expect(script.feed(.timePassed, after: 6), is: [])
    expect(script.engine.runningWorkers, is: 0)
  }

  @Test func `a full accept queue turns away a connection of the address with most connections`() {
    var script = opened()
    _ = script.feed(.arrived(Script.id(1), remote("lone"), chance: 0))
    for number in 2...UInt64(Admission.forStrangers.acceptQueue) {
      expect(script.feed(.arrived(Script.id(number), remote("many"), chance: number)), is: [])
    }
    for number in 1000..<1100 as Range<UInt64> {
      let dropped = script.feed(.arrived(Script.id(number), remote("h\(number)"), chance: number))
      expect(dropped.count == 1 && dropped != ["drop 1"] && dropped != ["drop \(number)"])
    }
  }

  @Test func `without descriptors a connection in the accept queue is dropped, or accepting pauses`() {
    var script = opened()
    _ = script.feed(.arrived(Script.id(1), remote("a"), chance: 0))
    script.come(2)
    expect(script.feed(.outOfDescriptors(chance: 3)), is: ["drop 1"])
    expect(script.feed(.outOfDescriptors(chance: 3), after: 1), is: ["pause until 1.1"])
  }

  @Test func `the random numbers of events decide which connection is turned away`() {
    var gone: Set<String> = []
    for chance in 0..<20 as Range<UInt64> {
      var script = opened()
      for number in 1...4 as ClosedRange<UInt64> {
        _ = script.feed(.arrived(Script.id(number), remote("h\(number)"), chance: 0))
      }
      gone.formUnion(script.feed(.outOfDescriptors(chance: chance)))
    }
    expect(gone, is: ["drop 1", "drop 2", "drop 3", "drop 4"])
    gone = []
    for chance in 0..<20 as Range<UInt64> {
      var script = opened()
      for number in 1...4 as ClosedRange<UInt64> {
        _ = script.feed(.arrived(Script.id(number), remote("h\(number)"), chance: number == 1 ? chance : 0))
      }
      gone.formUnion(script.feed(.outOfDescriptors(chance: 0)))
    }
    expect(gone.count > 1)
  }

  // MARK: Inside

  /// Lets strangers in until every place is taken.
  private func fill(_ script: inout Script, from first: UInt64 = 100, besides count: UInt64 = 0) {
    for number in first..<first + UInt64(Admission.forStrangers.inside) - count {
      script.come(number, host: "many", key: 99)
    }
  }

  @Test func `a full house makes room at the address with most connections, and reports busy to that one`() {
    var script = opened()
    fill(&script)
    script.now = 1
    _ = script.feed(.arrived(Script.id(1), remote("a"), chance: 5))
    let done = script.feed(.spoke(Script.id(1)))
    expect(done.count == 2 && done[0].hasSuffix(" for room") && done[1] == "greet 1 until 6.0, 11.0")
    guard let victim = done[0].split(separator: " ").dropFirst().first.flatMap({ UInt64($0) }) else { return }
    expect(script.ask(victim), is: ["turn away \(victim): busy"])
    expect(script.feed(.departed(Script.id(victim))), is: [])
  }

  @Test func `a connection that must make room is neither judged nor accepted at READY`() {
    for last in [
      ReceiverEngine.Event.proved(Script.id(1), isRight: true), .ready(Script.id(1), identifier: 5),
      .joining(Script.id(1), Join(session: 1, stream: 1)),
    ] {
      var script = opened()
      script.come(1, host: "many")
      _ = script.ask(1)
      // All others have just made progress.
      fill(&script)
      script.now = 0.15
      for number in 100..<200 as Range<UInt64> { _ = script.feed(.secured(Script.id(number), Script.key(99))) }
      _ = script.feed(.arrived(Script.id(9), remote("a"), chance: 5))
      let isEvicted = script.feed(.spoke(Script.id(9))).contains("dismiss 1 for room")
      expect(isEvicted)
      let done = script.feed(last)
      if case .proved = last { expect(done, is: ["turn away 1: busy"]) } else { expect(done, is: ["drop 1"]) }
      expect(script.feed(.timePassed), is: [])
    }
  }

  @Test func `a connection that has proved the code need not make room`() {
    var script = opened()
    script.come(1, host: "many")
    _ = script.ask(1)
    _ = script.feed(.proved(Script.id(1), isRight: true))
    fill(&script)
    script.now = 0.15
    for number in 100..<200 as Range<UInt64> { _ = script.feed(.secured(Script.id(number), Script.key(99))) }
    _ = script.feed(.arrived(Script.id(9), remote("a"), chance: 5))
    expect(script.feed(.spoke(Script.id(9))), is: [])
    expect(script.feed(.timePassed, after: 0.1).contains("greet 9 until 5.25, 10.25"))
  }

  @Test func `a known sender's connections have places of their own, up to a limit`() {
    var script = opened([Script.known(66, key: 6)])
    fill(&script)
    for number in 1000..<1000 + UInt64(ReceiverConnections.placesPerKey) {
      _ = script.feed(.arrived(Script.id(number), remote("10.0.0.6"), chance: 1))
      expect(script.feed(.spoke(Script.id(number))), is: ["greet \(number) until 5.0, 10.0"])
      expect(script.feed(.secured(Script.id(number), Script.key(6))), is: [])
    }
    _ = script.feed(.arrived(Script.id(1), remote("10.0.0.6"), chance: 1))
    _ = script.feed(.spoke(Script.id(1)))
    expect(script.feed(.secured(Script.id(1), Script.key(6))), is: ["dismiss 1 for room"])
    expect(script.feed(.asked(Script.id(1), .resume)), is: ["turn away 1: busy"])
    _ = script.feed(.departed(Script.id(1)))
    // When one of them leaves, a place is free again.
    _ = script.feed(.departed(Script.id(1000)))
    _ = script.feed(.arrived(Script.id(2), remote("10.0.0.6"), chance: 1))
    _ = script.feed(.spoke(Script.id(2)))
    expect(script.feed(.secured(Script.id(2), Script.key(6))), is: [])
    // Connections of another key do not count with them.
    script.come(3, host: "10.0.0.6", key: 7)
    expect(script.feed(.asked(Script.id(3), .resume)).last, is: "turn away 3: unknownPeer")
  }

  @Test func `during a session strangers are let in at a limited rate, and known addresses faster`() {
    var script = opened([Script.known(66, key: 6)])
    script.pair()
    func greeted(_ host: String, _ first: UInt64) -> Int {
      var count = 0
      for number in first..<first + 60 {
        _ = script.feed(.arrived(Script.id(number), remote(host), chance: 1))
        let done = script.feed(.spoke(Script.id(number)))
        if done.contains(where: { $0.hasPrefix("greet") }) { count += 1 }
        _ = script.feed(.secured(Script.id(number), Script.key(host == "10.0.0.6" ? 6 : 50)))
      }
      return count
    }
    expect(greeted("10.0.0.50", 1000), is: 20)
    expect(greeted("10.0.0.6", 2000), is: 60)
    expect(script.feed(.timePassed, after: 0.05).count, is: 1)
  }

  @Test func `the address of a paired sender becomes known, and the oldest of many is forgotten`() {
    var script = opened((1...33).map { Script.known(TransferID($0), key: $0) })
    // Hosts of earlier transfers come first, newest first.
    func isKnown(_ host: String) -> Bool {
      var engine = script.engine
      for number in 1000...1000 + UInt64(Admission.forStrangers.acceptQueue) {
        _ = engine.handle(.arrived(Script.id(number), remote(host), chance: 0), now: 0)
      }
      return engine.connections.all.count < 2 * Admission.forFamiliar.acceptQueue
    }
    expect(isKnown("10.0.0.1") && isKnown("10.0.0.32"))
    expect(!isKnown("10.0.0.33") && !isKnown("10.0.0.40"))
    script.pair(40)
    expect(isKnown("10.0.0.40"))
    expect(!isKnown("10.0.0.32"))
  }

  @Test func `a host that is seen again becomes the newest, and counts once`() {
    var connections = ReceiverConnections()
    for number in 1...32 { connections.noteHost("h\(number)") }
    for _ in 0..<10 { connections.noteHost("h1") }
    connections.noteHost("h33")
    func isKnown(_ host: String) -> Bool {
      var connections = connections
      let count = UInt64(Admission.forFamiliar.acceptQueue + 1)
      let turnedAway = (1...count).compactMap {
        connections.arrive(ConnectionID($0), remote(host), now: 0, chance: 0)
      }
      return !turnedAway.isEmpty
    }
    expect(isKnown("h1") && isKnown("h33") && isKnown("h3"))
    expect(!isKnown("h2"))
  }

  @Test func `strangers cannot take the places of known addresses`() {
    var connections = ReceiverConnections()
    connections.noteHost("known")
    for number in 0..<1000 as Range<UInt64> {
      _ = connections.arrive(ConnectionID(number), remote("h\(number)"), now: 0, chance: number)
      connections.heard(ConnectionID(number))
      _ = connections.letIn(now: 0, isEngaged: false)
    }
    let known = ConnectionID(1000)
    expect(connections.arrive(known, remote("known"), now: 0, chance: 0) == nil)
    connections.heard(known)
    let entry = connections.letIn(now: 0, isEngaged: true)
    expect(entry?.0 == known && entry?.evicted == nil)
  }

  @Test func `chance continues by itself, and with the numbers stirred in`() {
    var chance = ReceiverConnections.Chance()
    expect(Set((0..<100).map { _ in chance.next() }).count, is: 100)
    // The numbers of SplitMix64.
    chance = ReceiverConnections.Chance()
    let first = chance.next()
    expect(first, is: 0xE220_A839_7B1D_CDAF)
    chance = ReceiverConnections.Chance()
    chance.stir(1)
    let stirred = chance.next()
    expect(stirred, is: 0x910A_2DEC_8902_5CC1)
  }

  @Test func `a place is free when its connection has ended, or is at READY`() {
    var script = opened()
    fill(&script)
    for number in 100..<164 as Range<UInt64> { _ = script.feed(.departed(Script.id(number))) }
    fill(&script, from: 300)
    expect(script.engine.runningWorkers, is: Admission.forStrangers.inside)
    // A connection whose key was unknown when it was shown has a place before READY, and none after
    // it.
    var late = opened()
    late.come(3, host: "10.0.0.3", key: 1)
    late.receive()
    _ = late.feed(.asked(Script.id(3), .join))
    _ = late.feed(.joining(Script.id(3), Join(session: Script.session, stream: 0)))
    expect(late.engine.connections.strangers.count + late.engine.connections.familiar.count, is: 0)
  }

  @Test func `a joining connection that has to make room is dropped`() {
    var script = opened()
    script.come(3, host: "many", key: 1)
    script.receive()
    _ = script.feed(.asked(Script.id(3), .join))
    script.now = 0.1
    fill(&script, besides: 1)
    // They are let in one after another, during a session.
    for _ in 0..<60 {
      script.now += 0.06
      for number in 100..<200 as Range<UInt64> { _ = script.feed(.secured(Script.id(number), Script.key(99))) }
    }
    _ = script.feed(.arrived(Script.id(9), remote("a"), chance: 5))
    expect(script.feed(.spoke(Script.id(9))).first, is: "dismiss 3 for room")
    expect(script.feed(.joining(Script.id(3), Join(session: Script.session, stream: 0))), is: ["drop 3"])
  }
}
