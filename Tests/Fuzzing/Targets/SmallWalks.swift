import FuzzDriver
import MigrationEngine
import MigrationWire

/// Every address is tried once, in order; a race has a result at its deadline; and pauses end.
func walkRace(_ bytes: InputBytes) {
  var input = bytes
  let count = 1 + input.number(below: 8)
  let patience = input.seconds()
  var (now, begun, failed) = (0.0, 0, Set<Int>())
  let isRound = input.flag()
  var race = AddressRace(count: count, now: 0, patience: patience, isRound: isRound)
  var backoff = Backoff(now: 0, patience: patience, longest: input.flag() ? input.seconds() : 10)
  while !input.isEmpty {
    switch input.byte() % 4 {
    case 0:
      while let place = race.begin(now: now) {
        promise(place == begun && place < count, "an address is tried twice, or left out")
        begun += 1
      }
    case 1:
      guard begun > 0 else { continue }
      let place = input.number(below: begun)
      failed.insert(place)
      race.failed(place, by: [.refused, .silent, .noRoute, .other("no")][input.number(below: 4)], now: now)
    case 2: now = input.flag() ? max(now, race.nextMoment) : now + input.seconds()
    default:
      let spread = Double(input.byte()) / 255
      if let pause = backoff.next(now: now, spread: spread) {
        promise(pause >= 0 && pause.isFinite && now <= patience, "a pause of \(pause) s")
      }
    }
    let loss = race.loss(now: now)
    promise(
      (loss != nil) == (now >= patience || !isRound && failed.count == count), "a race is lost too early, or never")
    promise(loss.map { $0.place < max(1, begun) } ?? true, "an address lost that was not tried")
  }
}

/// The number of streams stays between one and the limit with any counters.
func walkStreamCount(_ bytes: InputBytes) {
  var input = bytes
  var limit = 1 + input.number(below: 64)
  var count = StreamCount(count: input.number(below: 70), limit: limit, now: 0)
  var seen = StreamCount.Observation(time: 0, bytes: 0, frames: 0, fewest: 0)
  while !input.isEmpty {
    let before = count.count
    if input.byte() == 0xFF {
      count.cannotOpen(now: seen.time)
      limit = count.count
      promise(count.count == max(1, before - 1), "a stream that cannot be opened is counted")
      continue
    }
    seen.time += input.seconds()
    seen.written = max(seen.written, seen.time - input.seconds())
    seen.bytes &+= input.u64() >> 8
    seen.frames &+= UInt64(input.byte())
    seen.fewest = UInt64(input.byte())
    (seen.isComplete, seen.isWaiting) = (input.flag(), input.flag())
    switch count.look(seen) {
    case .stay: promise(count.count == before, "the number changes without a step")
    case .open(let more): promise(more > 0 && count.count == before + more, "other streams are opened")
    case .end(let fewer): promise(fewer > 0 && count.count == before - fewer, "other streams are ended")
    }
    promise((1...limit).contains(count.count), "\(count.count) streams")
    promise((1...limit).contains(max(1, min(count.found, limit))), "\(count.found) streams were best")
  }
}

/// The sending end takes each acknowledgement of the receiving end. One that the network invents is
/// refused, or covers only frames that were sent.
func walkStream(_ bytes: InputBytes) {
  var input = bytes
  var (outgoing, incoming) = (OutgoingStream(), IncomingStream())
  var (sent, written): (UInt64, UInt64) = (0, 0)
  promise(read { () throws(Violation) in try incoming.joined() } != nil, "JOIN is refused")
  while !input.isEmpty {
    switch input.byte() % 6 {
    case 0, 1:
      let number = outgoing.assign()
      promise(number == sent, "a frame has another number")
      sent += 1
    case 2:
      guard incoming.writtenFrames < sent else { continue }
      let header = DataHeader(sequence: incoming.writtenFrames, encoding: .plain, plainLength: 1)
      promise(read { () throws(Violation) in try incoming.received(header) } != nil, "the next frame is refused")
      incoming.wrote()
    case 3: incoming.synced(min(UInt64(input.byte()), incoming.writtenFrames))
    case 4:
      guard let ack = incoming.acknowledge() else { continue }
      if let more = read({ () throws(Violation) in try outgoing.received(ack) }) { written += more }
    default:
      let ack = Acknowledgement(written: input.u64(), durable: input.u64())
      if let more = read({ () throws(Violation) in try outgoing.received(ack) }) { written += more }
    }
    promise(outgoing.underWay == sent - written, "frames under way are counted wrongly")
    promise(outgoing.durable <= written && written <= sent, "more is written than was sent")
  }
}

/// Ranges ascend, do not touch, and are exactly the positions that were inserted: as a set of small
/// numbers has them.
func walkRanges(_ bytes: InputBytes) {
  var input = bytes
  var ranges = ByteRanges()
  var positions: Set<UInt64> = []
  let base: UInt64 = input.flag() ? 0 : Limits.fileSize - 70
  while !input.isEmpty {
    let start = UInt64(input.byte() % 64)
    let range = base + start..<base + start + UInt64(input.byte() % 7)
    let isIn = range.filter(positions.contains)
    let cover = ranges.cover(of: range)
    if !range.isEmpty {
      promise(cover == (isIn.isEmpty ? .none : isIn.count == range.count ? .whole : .part), "a cover is \(cover)")
    }
    promise(ranges.gaps(in: range).flatMap { Array($0) } == range.filter { !positions.contains($0) }, "other gaps")
    ranges.insert(range)
    positions.formUnion(range)
    promise(ranges.count == UInt64(positions.count), "positions are counted wrongly")
    promise(zip(ranges.all, ranges.all.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "ranges touch")
  }
}
