/// The traits of a destination that only the receiver knows (Protocol §6.3).
package struct DestinationTraits: Equatable, Sendable {
  /// The most bytes in a file; nil without a limit.
  package var largestFile: UInt64?
  /// The granularity of times in nanoseconds.
  package var timeGranularity: UInt32 = 1
  /// The first and the last second of the times that it keeps; nil without a limit.
  package var earliestTime: Int64?
  package var latestTime: Int64?
  private var unknown = Fields()

  package init() {}

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the destination's traits"
    let fields = try Fields(bytes, range, of: subject)
    largestFile = try fields.number(1, subject)
    timeGranularity = try fields.number(5, subject) ?? 1
    earliestTime = try (fields.number(6, subject) as UInt64?).map { Int64(bitPattern: $0) }
    latestTime = try (fields.number(7, subject) as UInt64?).map { Int64(bitPattern: $0) }
    unknown = fields.unknown(besides: [1, 5, 6, 7])
    // Default values are not encoded.
    guard fields.value(5) == nil || timeGranularity > 1 else { throw Violation(.value, subject) }
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    if let largestFile { fields.append(1) { $0.u64(largestFile) } }
    if timeGranularity > 1 { fields.append(5) { $0.u32(timeGranularity) } }
    if let earliestTime { fields.append(6) { $0.u64(UInt64(bitPattern: earliestTime)) } }
    if let latestTime { fields.append(7) { $0.u64(UInt64(bitPattern: latestTime)) } }
    fields.write(with: unknown, to: &writer)
  }

  /// The time that the destination keeps for one that is set.
  package func kept(_ time: ItemTime) -> ItemTime {
    time.clamped(from: earliestTime, to: latestTime).rounded(to: timeGranularity)
  }

  /// Whether a file of this size is too large for the destination.
  package func refuses(size: UInt64) -> Bool { size > largestFile ?? .max }
}
