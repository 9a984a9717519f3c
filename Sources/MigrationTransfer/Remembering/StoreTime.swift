import MigrationEngine
import MigrationSystem
import MigrationWire

/// The time by which a store deletes what is too old.
///
/// A clock may be set, and a machine without a battery may begin in another year. So nothing counts
/// as older than the last step of the clock that no waiting explains.
package struct StoreTime: Equatable, Sendable {
  /// The clock, in seconds since 1970.
  package let now: Int64
  /// The time since the machine started, in seconds.
  let uptime: Int64
  /// The clock right after its last implausible step.
  package let begin: Int64

  /// A clock that has not been set.
  package init(_ now: Int64, uptime: Int64 = 0) { (self.now, self.uptime, begin) = (now, uptime, .min) }

  private init(_ now: Int64, uptime: Int64, since begin: Int64) {
    (self.now, self.uptime, self.begin) = (now, uptime, begin)
  }

  /// The differences between two clocks, in seconds, and the longest time for which a machine is off
  /// or a store not used, that are plausible.
  private static let (drift, rest): (Int64, Int64) = (3600, 7 * 24 * 3600)

  /// The time at a later look, or at a first one.
  static func next(after last: StoreTime?, now: Int64, uptime: Int64) -> StoreTime {
    guard let last else { return StoreTime(now, uptime: uptime, since: now) }
    let passed = now.subtractingReportingOverflow(last.now)
    guard !passed.overflow else { return StoreTime(now, uptime: uptime, since: now) }
    let isSteady = uptime >= last.uptime && abs(passed.partialValue - (uptime - last.uptime)) <= drift
    // The machine may have started in between.
    let isRest = uptime <= passed.partialValue + drift && passed.partialValue <= rest && passed.partialValue >= 0
    return StoreTime(now, uptime: uptime, since: isSteady || isRest ? last.begin : now)
  }

  /// Whether more than so many seconds have passed since a moment.
  func isOver(_ life: Int64, since moment: Int64) -> Bool {
    let passed = now.subtractingReportingOverflow(max(moment, begin))
    return passed.overflow ? moment < now : passed.partialValue > life
  }
}

extension TransferStore {
  private static let clockFile = Array("clock".utf8)

  /// Reads the clock, and notes what it shows for the next look.
  package func time() -> StoreTime {
    let (now, uptime) = (Timestamp.coarseNow().seconds, Int64(BootInstant.now().seconds))
    guard let home = try? Directory.open(home) else { return StoreTime.next(after: nil, now: now, uptime: uptime) }
    // An unreadable note is a step: nothing is deleted.
    let last = try? StoreTime(encoded: home.openChild(Self.clockFile).readAll(limit: 64))
    let time = StoreTime.next(after: last, now: now, uptime: uptime)
    // A later look then finds a step.
    try? home.replaceFile(Self.clockFile, with: time.encoded)
    return time
  }
}

extension StoreTime {
  var encoded: [UInt8] {
    var writer = ByteWriter()
    for number in [now, uptime, begin] { writer.u64(UInt64(bitPattern: number)) }
    return writer.bytes
  }

  init(encoded bytes: [UInt8]) throws(Violation) {
    var reader = ByteReader(0..<bytes.count, of: "the clock")
    func number() throws(Violation) -> Int64 { Int64(bitPattern: try reader.u64(bytes.span)) }
    self.init(try number(), uptime: try number(), since: try number())
    try reader.finish()
  }
}
