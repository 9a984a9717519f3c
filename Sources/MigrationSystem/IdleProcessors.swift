import Glibc

/// How many of this machine's processors nobody uses, measured from one look to the next.
package struct IdleProcessors: Sendable {
  /// How long a measurement takes at least, in seconds; the kernel counts in hundredths.
  private static let shortest = 0.1

  private var last: (now: BootInstant, idle: Double)?
  private var latest: Double?
  private var isUnknown = false

  package init() {}

  /// How many were idle lately; nil while that is not known, or where the kernel does not tell.
  package mutating func look() -> Double? {
    guard !isUnknown else { return nil }
    let now = BootInstant.now()
    let seconds = last.map { now.seconds(since: $0.now) }
    if let seconds, seconds < Self.shortest { return latest }
    guard let idle = Self.idleSeconds() else {
      isUnknown = true
      return nil
    }
    if let last, let seconds { latest = max(0, idle - last.idle) / seconds }
    last = (now, idle)
    return latest
  }

  /// For how long all processors together had nothing to do since the machine started.
  private static func idleSeconds() -> Double? {
    guard let file = try? Directory.open("/proc").openChild("stat") else { return nil }
    var text = [UInt8](repeating: 0, count: 512)
    var target = text.mutableSpan
    let count = try? unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      try unsafe file.readFully(at: 0, into: buffer)
    }
    guard let count, let line = text[..<count].split(separator: UInt8(ascii: "\n")).first else { return nil }
    return idleTicks(in: String(decoding: line, as: UTF8.self)).map { Double($0) / Double(sysconf(CInt(_SC_CLK_TCK))) }
  }

  /// What the first line of /proc/stat says of doing nothing, and of waiting for a disk.
  static func idleTicks(in line: String) -> UInt64? {
    let fields = line.split(separator: " ")
    guard fields.count > 5, fields[0] == "cpu", let idle = UInt64(fields[4]), let waiting = UInt64(fields[5]) else {
      return nil
    }
    return idle &+ waiting
  }
}
