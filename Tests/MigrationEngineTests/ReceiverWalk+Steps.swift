import MigrationWire
import TestSupport

@testable import MigrationEngine

extension ReceiverWalk {
  private typealias Script = ReceiverScript

  /// A random event happens.
  mutating func step() {
    switch Int.random(in: 0..<100, using: &dice) {
    case 0..<50: if !jobs.isEmpty { endSome(jobs[Int.random(in: 0..<jobs.count, using: &dice)]) }
    case 50..<60: arrive(UInt8.random(in: chance(8) ? 1...9 : keys, using: &dice))
    case 60..<66: lobby()
    case 66..<85: talk()
    case 85..<88: again()
    case 88: feed(.outOfDescriptors(chance: dice.next()))
    case 89 where chance(2): if let id = some(.conversing) { breakOff(id, chance(20) ? fault() : Script.cut) }
    case 90..<92: news()
    default: pass()
    }
    if chance(1500) { feed(.stop(.terminated)) }
  }

  /// Pending work ends, and time passes, until the run has ended.
  mutating func wind() {
    feed(.stop(.interrupted))
    for _ in 0..<300 where result == nil {
      if let job = jobs.randomElement(using: &dice), !chance(20) { endSome(job) } else { pass() }
    }
  }

  private mutating func pass() {
    if let next = engine.nextMoment, chance(2) {
      now = max(now, next)
    } else {
      now += Double.random(in: 0...(chance(30) ? 700 : 0.3), using: &dice)
    }
    feed(.timePassed)
  }

  private func ids(_ place: Place) -> [ConnectionID] { places.filter { $0.value == place }.keys.sorted() }

  private mutating func some(_ place: Place) -> ConnectionID? { ids(place).randomElement(using: &dice) }

  private func fault() -> Fault { Script.broken }

  private mutating func lobby() {
    guard let id = some(.lobby) else { return }
    if chance(5) { leave(id) } else { feed(.spoke(id)) }
  }

  private mutating func news() {
    if let number = looked {
      looked = nil
      let moment = chance(4) ? nil : now - Double.random(in: 0...300, using: &dice)
      return feed(.lookedForData(number, lastAt: moment, held: tally()))
    }
    let name = "\(UInt64.random(in: 0..<5, using: &dice))"
    guard let transfer = engine.transfers.randomElement(using: &dice)?.identifier else { return }
    if chance(60) {
      feed(.forgotten(transfer))
    } else if jobs.contains(.importItems(transfer)), chance(2) {
      feed(.importing(transfer, ImportProgress(phase: .importing, done: 1, total: 4)))
    } else {
      feed(.refused(transfer, [Script.refusal(name)]))
    }
  }

  // MARK: A sender

  private mutating func talk() {
    guard let id = some(.conversing), let state = talks[id] else { return }
    if chance(400) { return say(.receipt, on: id, next: state) }
    if chance(200) { return say(.close(Close(.interrupted, "enough")), on: id, next: state) }
    switch state {
    case .greeting: say(Script.greeting([.zstd, .ways]), on: id, next: .planning)
    case .planning: say(.plan(plan(of: senders[id] ?? 0)), on: id, next: .waiting)
    case .between: offer(on: id)
    case .failed: answer(on: id)
    case .offered: if chance(8) { giveUp(on: id) } else { say(.ping(1), on: id, next: state) }
    case .waiting, .finishing, .failing: say(.ping(1), on: id, next: state)
    case .sending:
      switch Int.random(in: 0..<6, using: &dice) {
      case 0 where chance(4): giveUp(on: id)
      case 0: say(.finish(Script.finish), on: id, next: .finishing)
      case 1: say(.drop(Drop(marks: [UInt128(dice.next())])), on: id, next: .sending)
      case 2: say(.notStored(NotStored(path: [97], .vanished)), on: id, next: .sending)
      case 3: feed(.drained(id))
      case 4 where chance(4): say(.ways(WayFixture.ways), on: id, next: .sending)
      default: arrive(senders[id] ?? 0)
      }
    case .over: say(.ping(2), on: id, next: .over)
    }
    if chance(3) { feed(.drained(id)) }
  }

  private func plan(of key: UInt8) -> Plan {
    let transfer = engine.conversations.values.first { senders[$0.connection] == key && $0.isTalking }?.transfer
    return Script.plan(transfer.flatMap { told.contains($0) ? $0 : nil }, parts: parts(of: key))
  }

  /// The next part, or the end of the session.
  private mutating func offer(on id: ConnectionID) {
    let first = offers[id].map { Int($0) + 1 } ?? 0
    let asksAgain = chance(2)
    let next = verdicts[id]?.parts.indices.dropFirst(first).first { index in
      switch verdicts[id]?.parts[index] {
      case .taken?: true
      case .finished?: asksAgain
      case .refused?, nil: false
      }
    }
    if let next { return say(.offer(Script.offer(UInt16(next))), on: id, next: .offered) }
    say(chance(4) ? .receipt : .ping(2), on: id, next: chance(4) ? .over : .between)
  }

  private mutating func giveUp(on id: ConnectionID) {
    guard let part = offers[id] else { return }
    say(.failed(Failed(part: part, Close(.exportFailed, "it is gone"))), on: id, next: .failing)
  }

  private mutating func answer(on id: ConnectionID) {
    guard let part = offers[id] else { return }
    say(.failed(Failed(part: part, Close(.storage, ""))), on: id, next: .between)
  }

  // MARK: The ends of workers

  private mutating func endSome(_ job: Job) {
    let fails = chance(60)
    switch job {
    case .takeBack:
      let known = known()
      remember(known)
      end(job, .tookBack(.success(known)))
    case .listen:
      let listening = Listening(addresses: [], port: 1, isAnnounced: true)
      end(job, .listening(fails ? .failure(fault()) : .success(listening)))
    case .makeCode: end(job, .codeMade(fails && chance(4) ? .failure(fault()) : .success(Script.code)))
    case .question: if chance(5) { end(job, .answered(fails ? nil : !chance(20))) }
    case .greet(let id): greeted(id)
    case .awaitShare(let id):
      if chance(8) { return end(job, .departed(id), id, nil) }
      end(job, .shared(id), id, .resting)
    case .exchange(let id):
      if chance(8) { return end(job, .departed(id), id, nil) }
      end(job, .proved(id, isRight: !chance(3)), id, .resting)
    case .keepProof(let id, let isRight):
      if chance(8) { return end(job, .departed(id), id, nil) }
      end(job, .proved(id, isRight: isRight), id, .resting)
    case .confirm(let id):
      if chance(8) { return end(job, .departed(id), id, nil) }
      end(job, .ready(id, identifier: UInt128(1000 + id.number)), id, .resting)
    case .turnAway(let id): end(job, .departed(id), id, nil)
    case .welcome(let id, let mode): welcomed(id, mode)
    case .close(let id): end(job, .closed(id), id, nil)
    case .weigh(let number, let parts):
      if fails, chance(8) { return end(job, .weighed(number, .failure(fault()), session: 0)) }
      var refused: [UInt16: Fault] = [:]
      for part in parts where chance(20) { refused[part] = Fault(.noSpace, "there is no room") }
      end(job, Script.weighed(number.value, parts, refused: refused))
    case .record(let number): end(job, .recorded(number, fails && chance(4) ? fault() : nil))
    case .stage(let number):
      end(
        job,
        .staged(
          number,
          fails
            ? .failure(chance(2) ? Fault(.claimed, "others send") : fault()) : .success(Script.admitted(held: tally())))
      )
    case .readLedger(let number):
      let marks = [UInt128(dice.next()), UInt128(dice.next())].sorted()
      let part = LedgerPart(
        pages: chance(4) ? [] : [Held(kind: .staged, marks: marks)], partials: [], end: chance(2) ? nil : tally())
      end(job, .ledger(number, .success(part)))
    case .dropItems(let number): end(job, .dropped(number, fails && chance(4) ? fault() : nil))
    case .serve(let id, _):
      if !chance(4) { return }
      end(job, .streamEnded(id, fails ? .failed(fault()) : .over, held: tally()), id, nil)
    // It runs until it is told to end.
    case .sync(let number): if chance(12) { end(job, .syncEnded(number, fails && chance(4) ? fault() : nil)) }
    case .dial(let number): if chance(4) { end(job, .dialed(number)) }
    case .gate(let number): end(job, .gateShut(number, fails && chance(4) ? fault() : nil))
    case .importItems(let transfer):
      if !chance(3) { return }
      end(
        job,
        .imported(
          transfer, fails ? .failure(fault()) : .success(Script.done), Traffic(), refused: []))
    case .store(let transfer): end(job, .noted(transfer))
    case .retake(let transfer): retake(transfer, fails: fails)
    }
  }

  private mutating func retake(_ transfer: TransferID, fails: Bool) {
    if fails, chance(2) { return end(.retake(transfer), .retook(transfer, .failure(fault()))) }
    let key = engine.transfers.last { $0.identifier == transfer }?.client.bytes[0] ?? 1
    let done = finished.filter { $0.transfer == transfer }.map(\.part)
    retook(transfer, chance(10) ? nil : known(transfer, key, finished: done))
  }

  /// What the disk has of a transfer.
  private mutating func known(
    _ transfer: TransferID, _ key: UInt8, finished: [UInt16]
  ) -> ReceiverEngine.KnownTransfer {
    let part = UInt16.random(in: 0..<UInt16(parts(of: key)), using: &dice)
    return Script.known(
      transfer, key: key, held: tally(), parts: parts(of: key), part: part, finished: finished,
      concluded: !finished.contains(part) && chance(4) ? tally() : nil)
  }

  private mutating func greeted(_ id: ConnectionID) {
    let job = Job.greet(id)
    if chance(12) { return end(job, .departed(id), id, nil) }
    let key = senders[id] ?? 0
    feed(.secured(id, Script.key(key)))
    let isKnown = engine.transfers[from: Script.key(key)] != nil
    let isJoinable = engine.conversations.values.contains { senders[$0.connection] == key && $0.streams != nil }
    let mode: ConnectionMode = chance(10) ? .join : isJoinable ? chance(4) ? .resume : .join : isKnown ? .resume : .pair
    end(job, .asked(id, mode), id, .resting)
  }

  private mutating func welcomed(_ id: ConnectionID, _ mode: ConnectionMode) {
    let job = Job.welcome(id, mode)
    if chance(8) { return end(job, .departed(id), id, nil) }
    guard mode == .join else { return end(job, .ready(id, identifier: UInt128(1000 + id.number)), id, .resting) }
    let stream = UInt32.random(in: 0..<40, using: &dice)
    let replaces: UInt32? = chance(2) ? UInt32.random(in: 0..<max(stream, 1), using: &dice) : nil
    let join = Join(session: chance(20) ? 1 : Script.session, stream: stream, replaces: replaces)
    end(job, .joining(id, join), id, .resting)
  }

  private mutating func tally() -> Tally { chance(3) ? Tally() : Tally(items: dice.next() % 4, bytes: dice.next() % 9) }

  /// The transfers of earlier runs.
  private mutating func known() -> [ReceiverEngine.KnownTransfer] {
    (1...4).filter { _ in chance(3) }.map { key in
      let finished = (0..<UInt16(parts(of: UInt8(key)))).filter { _ in chance(3) }
      return known(TransferID(key), UInt8(key), finished: finished)
    }
  }
}
