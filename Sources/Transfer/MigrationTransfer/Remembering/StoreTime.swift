import MigrationEngine
import MigrationSystem
import MigrationWire

extension TransferStore {
  static let clockFile = Array("clock".utf8)
  private static let bootFile = Array("/proc/sys/kernel/random/boot_id".utf8)

  /// Reads the clock, and notes the time for the next look.
  package func time() -> StoreTime {
    let (now, uptime) = (Timestamp.coarseNow().seconds, Int64(BootInstant.now().seconds))
    // If the boot ID cannot be read, only a shorter uptime shows a new start.
    let boot = (try? Descriptor.open(Self.bootFile).readToEnd(limit: 64)) ?? []
    guard let home = try? Directory.open(home) else {
      return StoreTime.next(after: nil, now: now, uptime: uptime, boot: boot)
    }
    // An unreadable note is a step: nothing is deleted.
    let last = try? StoreTime(encoded: home.openChild(Self.clockFile).readAll(limit: 128))
    let time = StoreTime.next(after: last, now: now, uptime: uptime, boot: boot)
    // A later look then finds a step.
    try? home.replaceFile(Self.clockFile, with: time.encoded)
    return time
  }

  /// The time by which a store finds data that is too old.
  ///
  /// A user may set the clock, and a machine without a battery may start in another year. So nothing
  /// counts as older than the clock's last step that the passing of time does not explain.
  package struct StoreTime: Equatable, Sendable {
    /// The clock, in seconds since 1970.
    package let now: Int64
    /// The time since the machine started, in seconds.
    let uptime: Int64
    /// The kernel's identifier of that start; empty if it is not known.
    let boot: [UInt8]
    /// The clock right after its last implausible step.
    package let begin: Int64

    /// A clock that has not been set.
    package init(_ now: Int64, uptime: Int64 = 0, boot: [UInt8] = []) {
      self.init(now, uptime: uptime, boot: boot, since: .min)
    }

    private init(_ now: Int64, uptime: Int64, boot: [UInt8], since begin: Int64) {
      (self.now, self.uptime, self.boot, self.begin) = (now, uptime, boot, begin)
    }

    /// The differences between two clocks, in seconds, and the longest time for which a machine is off
    /// or a store not used, that are plausible.
    private static let (drift, rest): (Int64, Int64) = (3600, 7 * 24 * 3600)

    /// The time at a later look, or at a first one.
    static func next(after last: StoreTime?, now: Int64, uptime: Int64, boot: [UInt8] = []) -> StoreTime {
      let step = StoreTime(now, uptime: uptime, boot: boot, since: now)
      guard let last else { return step }
      let passed = now.subtractingReportingOverflow(last.now)
      guard !passed.overflow else { return step }
      let isSteady = uptime >= last.uptime && abs(passed.partialValue - (uptime - last.uptime)) <= drift
      // While a machine is on, it does not rest.
      let hasStarted = uptime < last.uptime || !boot.isEmpty && !last.boot.isEmpty && boot != last.boot
      let isRest =
        hasStarted && uptime <= passed.partialValue + drift && passed.partialValue <= rest && passed.partialValue >= 0
      return isSteady || isRest ? StoreTime(now, uptime: uptime, boot: boot, since: last.begin) : step
    }

    /// Whether more than so many seconds have passed since a moment.
    func isOver(_ life: Int64, since moment: Int64) -> Bool {
      let passed = now.subtractingReportingOverflow(max(moment, begin))
      return passed.overflow ? moment < now : passed.partialValue > life
    }
  }
}

extension TransferStore.StoreTime {
  var encoded: [UInt8] {
    var writer = ByteWriter()
    for number in [now, uptime, begin] { writer.u64(UInt64(bitPattern: number)) }
    writer.array(boot)
    return writer.bytes
  }

  init(encoded bytes: [UInt8]) throws(Violation) {
    var reader = ByteReader(0..<bytes.count, of: "the clock")
    func number() throws(Violation) -> Int64 { Int64(bitPattern: try reader.u64(bytes.span)) }
    let (now, uptime, begin) = (try number(), try number(), try number())
    self.init(now, uptime: uptime, boot: try reader.rest(bytes.span), since: begin)
  }
}
