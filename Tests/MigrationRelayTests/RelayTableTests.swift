import Expectations
import MigrationTLS
import MigrationWire
import Testing

@testable import MigrationRelay

/// A table and its connections, by the numbers of the test.
private struct Script {
  static let token = RelayToken([UInt8](repeating: 7, count: 16))
  static let other = RelayToken([UInt8](repeating: 9, count: 16))
  static let challenge = [UInt8](repeating: 1, count: 16)

  var table: RelayTable
  var now = 1000.0
  var date = RelayDate(0)
  private var chance: UInt8 = 0

  init(_ change: (inout RelaySettings) -> Void = { _ in }) {
    var settings = RelaySettings(tokens: [Self.token, Self.other])
    change(&settings)
    table = RelayTable(settings, now: now)
  }

  /// From where a connection comes.
  static func address(_ id: RelayTable.ID) -> InternetAddress {
    InternetAddress(address: [192, 0, 2, 7], port: UInt16(truncatingIfNeeded: id))
  }

  @discardableResult
  mutating func arrive(_ id: RelayTable.ID, _ network: String = "n") -> [RelayTable.Action] {
    table.arrived(
      id, at: Self.address(id), network: network, challenge: Self.challenge, now: now)
  }

  mutating func say(_ id: RelayTable.ID, _ frame: RelayFrame) -> [RelayTable.Action] {
    chance &+= 1
    return table.received(id, frame, random: [UInt8](repeating: chance, count: 24), date: date, now: now)
  }

  mutating func ask(
    _ id: RelayTable.ID, _ errand: RelayErrand, _ token: RelayToken = Self.token, at network: String = "n",
    name: String = "relay:1", challenge: [UInt8] = Self.challenge
  ) -> [RelayTable.Action] {
    arrive(id, network)
    let request = RelayRequest(errand, at: name, nonce: [UInt8](repeating: 3, count: 16))
    return say(id, .request(request, proof: token.proof(of: request.signedPart, challenge: challenge)))
  }

  /// Registers, and returns the place.
  mutating func register(
    _ id: RelayTable.ID, at network: String = "n", _ token: RelayToken = Self.token
  ) throws -> RelayPlace {
    let actions = ask(id, .register, token, at: network)
    let place = actions.lazy.compactMap { if case .say(id, .place(let place)) = $0 { place } else { nil } }.first
    return try #require(place)
  }

  /// Calls, and returns the call of which the receiver hears.
  mutating func call(_ id: RelayTable.ID, _ errand: RelayErrand, at network: String = "n") throws -> RelayCall {
    let actions = ask(id, errand, at: network)
    let call = actions.lazy.compactMap { if case .say(_, .ring(let call, _)) = $0 { call } else { nil } }.first
    return try #require(call)
  }

  mutating func join(_ caller: RelayTable.ID, _ receiver: RelayTable.ID, _ errand: RelayErrand) throws {
    let call = try call(caller, errand)
    expect(ask(receiver, .answer(call)).last, is: .join(caller, receiver))
  }
}

private func refusal(_ actions: [RelayTable.Action], of id: RelayTable.ID) -> RelayRefusal? {
  guard actions.last == .close(id) else { return nil }
  return actions.lazy.compactMap { if case .say(id, .refused(let reason, _)) = $0 { reason } else { nil } }.first
}

@Suite struct RelayTableTests {
  @Test func `a caller of a place and the receiver's answer are joined`() throws {
    var script = Script()
    expect(script.arrive(9), is: [.say(9, .challenge(Script.challenge))])
    let place = try script.register(1)
    let call = try script.call(2, .call(place))
    expect(
      script.ask(3, .answer(call)),
      is: [.say(2, .joined(Script.address(2))), .say(3, .joined(Script.address(3))), .join(2, 3)])
    expect(script.table.counters.calls, is: 1)
    // The end of one is the end of the other, and the place is still there.
    expect(script.table.closed(2), is: [.close(3)])
    expect(script.table.counters.calls == 0 && script.table.counters.places == 1)
    // Behind JOINED, both ends are told in other bytes.
    try script.join(5, 6, .call(place))
    expect(
      script.table.broke(5), is: [.say(5, .cut(.malformed)), .say(6, .cut(.malformed)), .close(5), .close(6)])
    // A call is answered once.
    expect(refusal(script.ask(4, .answer(call)), of: 4), is: .absent)
  }

  @Test func `devices meet at bytes that only they know, and the newer registration counts`() throws {
    var script = Script()
    let meeting = RelayMeeting(ofSecret: [1, 2, 3])
    expect(refusal(script.ask(1, .meet(meeting)), of: 1), is: .absent)
    _ = try script.register(2)
    expect(script.say(2, .meet(meeting)), is: [])
    _ = try script.register(3)
    expect(script.say(3, .meet(meeting)), is: [])
    let actions = script.ask(4, .meet(meeting))
    expect(actions.contains { if case .say(3, .ring) = $0 { true } else { false } })
    // The older one's end does not end the newer one's meeting.
    _ = script.table.closed(2)
    _ = try script.call(5, .meet(meeting))
  }

  @Test func `a device waits at sixty-four meetings, the newest ones`() throws {
    var script = Script()
    let meetings = (1...65).map { RelayMeeting(ofSecret: [$0]) }
    _ = try script.register(1)
    for meeting in meetings.prefix(64) + meetings.prefix(1) { expect(script.say(1, .meet(meeting)), is: []) }
    expect(script.say(1, .meet(meetings[64])), is: [])
    expect(refusal(script.ask(2, .meet(meetings[0])), of: 2), is: .absent)
    for place in [1, 64] { _ = try script.call(UInt64(2 + place), .meet(meetings[place])) }
  }

  @Test func `a proof of another token, challenge or name opens nothing`() throws {
    var script = Script { $0.names = ["relay:1"] }
    let strange = RelayToken([UInt8](repeating: 8, count: 16))
    expect(refusal(script.ask(1, .register, strange), of: 1), is: .token)
    expect(refusal(script.ask(2, .register, challenge: [UInt8](repeating: 2, count: 16)), of: 2), is: .token)
    expect(refusal(script.ask(3, .register, name: "other:1"), of: 3), is: .token)
    _ = try script.register(4, Script.other)
    // Nothing is said before the proof.
    script.arrive(5)
    expect(refusal(script.say(5, .ping), of: 5), is: .malformed)
  }

  @Test func `a receiver that leaves ends the calls that wait for it`() throws {
    var script = Script()
    let place = try script.register(1)
    _ = try script.call(2, .call(place))
    let actions = script.table.closed(1)
    expect(refusal(actions, of: 2), is: .absent)
    expect(script.table.isEmpty)
  }

  @Test func `every wait has an end`() throws {
    var script = Script()
    script.arrive(1)
    let place = try script.register(2)
    _ = try script.call(3, .call(place))
    try script.join(4, 5, .call(place))
    script.now += 5
    expect(script.table.expire(now: script.now), is: [.say(1, .refused(.idle)), .close(1)])
    script.now += 5
    expect(refusal(script.table.expire(now: script.now), of: 3), is: .absent)
    expect(script.say(2, .ping), is: [.say(2, .pong)])
    script.now += 59
    expect(script.table.expire(now: script.now), is: [])
    script.now += 1
    expect(script.table.expire(now: script.now), is: [.say(2, .refused(.idle)), .close(2)])
    script.now += 900
    let ended = script.table.expire(now: script.now)
    expect(ended.count == 4 && ended.contains(.say(4, .cut(.idle))) && ended.contains(.say(5, .cut(.idle))))
    expect(ended.contains(.close(4)) && ended.contains(.close(5)))
    expect(script.table.isEmpty)
  }

  @Test func `places cannot be listed`() throws {
    var script = Script()
    let place = try script.register(1, at: "there")
    var free = (10..<100).compactMap { RelayPlace(withoutCheck: $0) }.filter { $0 != place }[...]
    var (id, tried) = (RelayTable.ID(100), 0)
    // One network, which tries for ten minutes.
    for second in 0..<600 {
      script.now = 1000 + Double(second)
      id += 1
      _ = script.say(1, .ping)
      expect(script.table.expire(now: script.now), is: [])
      let next = try #require(free.first)
      guard refusal(script.ask(id, .call(next), at: "guesser"), of: id) == .absent else { continue }
      (tried, free) = (tried + 1, free.dropFirst())
    }
    expect(tried, is: 64)
    // Many networks with one token.
    var many = Script()
    _ = try many.register(1)
    tried = 0
    for second in 0..<600 {
      many.now = 1000 + Double(second)
      id += 1
      let wrong = try #require(RelayPlace(withoutCheck: UInt32(second % 890 + 100)))
      if refusal(many.ask(id, .call(wrong), at: "n\(second)"), of: id) == .absent { tried += 1 }
    }
    expect(tried, is: 74)
    // A caller with another token is served.
    expect(
      refusal(many.ask(1_000_000, .call(try #require(RelayPlace(withoutCheck: 999))), Script.other), of: 1_000_000),
      is: .absent)
    // And one of the flooded token is told to wait, also for a place that is there.
    expect(refusal(script.ask(1_000_001, .call(place), at: "guesser"), of: 1_000_001), is: .busy)
    _ = try script.call(1_000_002, .call(place), at: "honest")
  }

  @Test func `places get longer before most of them are taken`() throws {
    var script = Script()
    var lengths: [Int: Int] = [:]
    for id in 1...200 {
      let place = try script.register(RelayTable.ID(id), at: "n\(id)")
      lengths[String(place.number).utf8.count, default: 0] += 1
    }
    expect(lengths, is: [3: 12, 4: 113, 5: 75])
  }

  @Test func `the network with most newcomers makes room`() {
    var script = Script()
    for id in 1...64 { script.arrive(RelayTable.ID(id), "flood") }
    expect(script.arrive(65, "flood").prefix(2), is: [.say(1, .refused(.busy, wait: 10)), .close(1)])
    for id in 100..<1060 { script.arrive(RelayTable.ID(id), "n\(id)") }
    expect(script.table.counters.newcomers, is: 1024)
    expect(script.arrive(2000, "honest").prefix(2), is: [.say(2, .refused(.busy, wait: 10)), .close(2)])
    expect(script.table.counters.newcomers, is: 1024)
  }

  @Test func `as many devices of a token wait at one address as the relay allows, and the newest is refused`() throws {
    var script = Script { $0.places = 3 }
    for id in 1...3 { _ = try script.register(RelayTable.ID(id), at: "home") }
    expect(refusal(script.ask(4, .register, at: "home"), of: 4), is: .full)
    expect(script.table.counters.places == 3 && script.table.counters.refused == [.full: 1])
    _ = try script.register(5, at: "elsewhere")
    _ = try script.register(6, at: "home", Script.other)
    _ = script.table.closed(1)
    _ = try script.register(7, at: "home")
  }

  @Test func `of a full token's largest share, the registration without a call for longest gives way`() throws {
    var script = Script { $0.places = 2_048 }
    var first: RelayPlace?
    for id in 1...2_048 {
      let place = try script.register(RelayTable.ID(id), at: "home")
      first = first ?? place
      script.now += 0.01
    }
    // The first one is called: the second one gives way, and to none of its own share.
    _ = try script.call(9_000, .call(try #require(first)))
    expect(refusal(Array(script.ask(9_001, .register, at: "elsewhere").prefix(2)), of: 2), is: .busy)
    expect(refusal(script.ask(9_002, .register, at: "home"), of: 9_002), is: .full)
    expect(script.table.counters.places, is: 2_048)
  }

  @Test func `a token's registrations give way to each other, and all of them to another token's`() throws {
    let third = RelayToken([UInt8](repeating: 5, count: 16))
    var script = Script { $0.tokens.append(third) }
    var id: RelayTable.ID = 0
    func register(_ token: RelayToken, _ count: Int) throws {
      for _ in 0..<count {
        id += 1
        script.now += 0.01
        _ = try script.register(id, at: "n\(id)", token)
      }
    }
    try register(Script.other, 1)
    try register(Script.token, 2_048)
    expect(refusal(Array(script.ask(9_001, .register, at: "a").prefix(2)), of: 2), is: .busy)
    try register(Script.other, 2_047)
    expect(script.table.counters.places, is: 4_096)
    expect(refusal(Array(script.ask(9_002, .register, third, at: "b").prefix(2)), of: 1), is: .busy)
  }

  @Test func `the largest share gives way, by token and by network`() throws {
    let third = RelayToken([UInt8](repeating: 5, count: 16))
    var script = Script { $0.tokens.append(third) }
    func dropped(_ id: RelayTable.ID, _ token: RelayToken, at network: String) -> RelayTable.ID? {
      script.now += 0.01
      return script.ask(id, .register, token, at: network).lazy
        .compactMap { if case .say(let id, .refused(.busy, _)) = $0 { id } else { nil } }.first
    }
    // The honest ones of a third token are the oldest, and never called.
    for id in 1...100 { expect(dropped(RelayTable.ID(id), third, at: "honest \(id)") == nil) }
    // Two others have as many networks as they like: their own gives way, also to an honest newcomer.
    for id in 1_000..<2_998 { expect(dropped(RelayTable.ID(id), Script.token, at: "n\(id)") == nil) }
    for id in 3_000..<4_998 { expect(dropped(RelayTable.ID(id), Script.other, at: "n\(id)") == nil) }
    expect(script.table.counters.places, is: 4_096)
    for id in 5_000..<5_020 {
      expect(try #require(dropped(RelayTable.ID(id), Script.token, at: "n\(id)")) >= 1_000)
      expect(try #require(dropped(RelayTable.ID(id + 20), third, at: "honest \(id)")) >= 1_000)
    }
    // And of one token, that of another network.
    var one = Script()
    for id in 1...2_016 { _ = try one.register(RelayTable.ID(id), at: "n\(id)") }
    for id in 2_017...2_048 { _ = try one.register(RelayTable.ID(id), at: "many") }
    expect(refusal(Array(one.ask(3_000, .register, at: "another").prefix(2)), of: 2_017), is: .busy)
  }

  @Test func `a place has sixteen waiting calls at most`() throws {
    var script = Script()
    let place = try script.register(1)
    for id in 10..<26 { _ = try script.call(RelayTable.ID(id), .call(place)) }
    expect(refusal(script.ask(26, .call(place)), of: 26), is: .busy)
    // One that is given up makes room for another one.
    _ = script.table.closed(10)
    _ = try script.call(27, .call(place))
  }

  @Test func `a call takes the place of its answer, too`() throws {
    var script = Script()
    let most = RelayLimits.calls.ofNetwork / 2
    expect(RelaySettings(tokens: []).calls.ofNetwork, is: RelayLimits.calls.ofNetwork)
    var calls: [(id: RelayTable.ID, call: RelayCall)] = []
    for number in 0..<RelayTable.ID(most) {
      // Sixteen wait at one place.
      if number % 16 == 0 {
        _ = try script.register(10_000 + number, at: "r\(number)")
        _ = script.say(10_000 + number, .meet(Self.meeting(of: number / 16)))
      }
      calls.append((number, try script.call(number, .meet(Self.meeting(of: number / 16)), at: "c")))
    }
    _ = try script.register(20_000, at: "r")
    _ = script.say(20_000, .meet(Self.meeting(of: 99)))
    expect(script.ask(5_000, .meet(Self.meeting(of: 99)), at: "c").contains(.say(5_000, .refused(.busy, wait: 1))))
    for (id, call) in calls { _ = script.ask(30_000 + id, .answer(call), at: "c") }
    expect(script.table.counters.calls, is: most)
    _ = script.table.closed(0)
    expect(script.table.counters.calls, is: most - 1)
    _ = try script.call(5_001, .meet(Self.meeting(of: 99)), at: "c")
  }

  private static func meeting(of number: RelayTable.ID) -> RelayMeeting {
    RelayMeeting(ofSecret: [UInt8](repeating: UInt8(number), count: RelayMeeting.secretSize))
  }

  @Test func `the volume of a token ends its calls until the next day or month`() throws {
    var script = Script {
      $0.daily = 1000
      $0.monthly = 1500
    }
    let place = try script.register(1)
    try script.join(2, 3, .call(place))
    expect(script.table.passed(2, 999, taking: 999, date: script.date, now: script.now), is: [])
    // Both ends learn why.
    let left = UInt16(min(script.date.left, 65_535))
    expect(
      script.table.passed(2, 1, taking: 1, date: script.date, now: script.now),
      is: [
        .say(2, .cut(.volume, wait: left)), .say(3, .cut(.volume, wait: left)), .close(2), .close(3),
      ])
    expect(refusal(script.ask(4, .call(place)), of: 4), is: .volume)
    script.date = RelayDate(86_400)
    try script.join(5, 6, .call(place))
    _ = script.table.passed(5, 500, taking: 500, date: script.date, now: script.now)
    expect(refusal(script.ask(7, .call(place)), of: 7), is: .volume)
    script.date = RelayDate(31 * 86_400)
    _ = try script.call(8, .call(place))
    // Another token has a volume of its own.
    expect(script.table.counters.bytes, is: 1500)
  }

  @Test func `a used-up volume ends all calls of its token, also one that passes nothing on`() throws {
    var script = Script { $0.daily = 1000 }
    let place = try script.register(1)
    try script.join(2, 3, .call(place))
    try script.join(4, 5, .call(place))
    let ended = script.table.passed(2, 1000, taking: 1000, date: script.date, now: script.now)
    let told: [RelayTable.ID] = ended.compactMap { if case .say(let id, .cut(.volume, _)) = $0 { id } else { nil } }
    expect(Set(told), is: [2, 3, 4, 5])
    expect(script.table.counters.calls == 0 && script.table.counters.places == 1)
  }

  @Test func `a rate is shared by the calls of a token, in equal parts`() throws {
    var script = Script { $0.rate = 1000 }
    let place = try script.register(1)
    try script.join(2, 3, .call(place))
    expect(script.table.allowance(2, 5000, now: script.now), is: 1000)
    expect(script.table.allowance(2, 5000, among: 4, now: script.now), is: 250)
    _ = script.table.passed(2, 1000, taking: 1000, date: script.date, now: script.now)
    expect(script.table.allowance(2, 5000, now: script.now), is: 0)
    // What was taken before costs nothing when it goes on.
    _ = script.table.passed(2, 1000, taking: 0, date: script.date, now: script.now)
    expect(script.table.allowance(2, 5000, now: script.now + 0.25), is: 250)
  }

  @Test func `a relay that is stopped serves only the devices whose calls carry data`() throws {
    var script = Script()
    let meeting = RelayMeeting(ofSecret: [1, 2, 3])
    let (place, idle) = (try script.register(1), try script.register(10, at: "idle"))
    _ = script.say(1, .meet(meeting))
    try script.join(2, 3, .call(place))
    try script.join(11, 12, .call(idle))
    _ = try script.register(20, at: "waits")
    script.now += 15
    // A session whose data goes directly passes some words on.
    _ = script.table.passed(11, 4_000, taking: 4_000, date: script.date, now: script.now)
    _ = script.table.passed(2, 64 << 10, taking: 64 << 10, date: script.date, now: script.now)
    let actions = script.table.stop(now: script.now)
    expect(refusal(actions.filter { $0 == .close(20) || $0 == .say(20, .refused(.ending)) }, of: 20), is: .ending)
    expect([11, 12].allSatisfy { actions.contains(.say($0, .cut(.ending))) && actions.contains(.close($0)) })
    expect(
      actions.contains(.say(10, .refused(.ending))) && !actions.contains(.close(1)) && !actions.contains(.close(2)))
    // A stream that breaks is replaced; others find nothing here any more.
    let call = try script.call(4, .meet(meeting))
    expect(script.ask(5, .answer(call)).last, is: .join(4, 5))
    expect(
      refusal(script.ask(6, .register), of: 6) == .ending && refusal(script.ask(7, .call(place)), of: 7) == .ending)
    _ = script.table.closed(5)
    expect(!script.table.isDone)
    script.now += 15
    let last = script.table.expire(now: script.now)
    expect(last.contains(.say(2, .cut(.ending))) && last.contains(.say(1, .refused(.ending))))
    expect(script.table.isDone && script.table.isEmpty)
  }

  @Test func `tokens change while a relay runs: one that stays keeps its volume, one that goes takes its devices`()
    throws
  {
    let third = RelayToken([UInt8](repeating: 5, count: 16))
    var script = Script { $0.daily = 1000 }
    let place = try script.register(1)
    try script.join(2, 3, .call(place))
    _ = script.table.passed(2, 999, taking: 999, date: script.date, now: script.now)
    _ = try script.register(4, Script.other)
    expect(
      script.table.change(to: [Script.token, third], now: script.now), is: [.say(4, .refused(.token)), .close(4)])
    expect(refusal(script.ask(5, .register, Script.other), of: 5), is: .token)
    _ = try script.register(6, third)
    expect(!script.table.passed(2, 1, taking: 1, date: script.date, now: script.now).isEmpty)
  }

  @Test func `a relay that ends now, and a call without a byte, tell both ends why`() throws {
    var script = Script()
    let place = try script.register(1)
    try script.join(2, 3, .call(place))
    expect(
      script.table.stopNow().filter { if case .say(2...3, .cut(.ending, _)) = $0 { true } else { false } }.count, is: 2)
    expect(script.table.isEmpty)
    script = Script()
    let other = try script.register(1)
    try script.join(2, 3, .call(other))
    let actions = script.table.expire(now: script.now + RelayLimits.idle)
    expect(actions.contains(.say(2, .cut(.idle))) && actions.contains(.say(3, .cut(.idle))))
    // The registration was silent too.
    expect(actions.contains(.say(1, .refused(.idle))))
  }

  @Test func `a day and its month begin where the calendar says so`() {
    // 28 February, 1 March 2024; 31 December, 1 January.
    expect(RelayDate(1_709_164_799).month, is: RelayDate(1_709_164_800).month)
    expect(RelayDate(1_709_251_199).month != RelayDate(1_709_251_200).month)
    expect(RelayDate(1_735_689_599).month != RelayDate(1_735_689_600).month)
    expect(RelayDate(1_735_689_600).day == 20_089 && RelayDate(1_735_689_600).left == 86_400)
  }
}
