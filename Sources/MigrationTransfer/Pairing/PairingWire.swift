import MigrationSystem
import MigrationWire

/// The frames before READY on a connection, with an absolute deadline.
extension Connection {
  /// The next frame; an ABORT is thrown as its reason.
  ///
  /// Throws a `ConnectionError`, a `Violation` or an `AbortReason`.
  mutating func pairingFrame(until deadline: BootInstant) throws -> (PairingFrame, bytes: [UInt8]) {
    let header = try readExactly(PairingFrame.headerSize, until: deadline)
    let length = try PairingFrame.length(header.span)
    let body = length > header.count ? try readExactly(length - header.count, until: deadline) : []
    let frame = try PairingFrame((header + body).span)
    if case .abort(let reason) = frame { throw reason }
    if frame == .ready { passReady() }
    return (frame, header + body)
  }

  /// Sends frames in one go.
  mutating func say(_ frames: PairingFrame..., until deadline: BootInstant) throws(ConnectionError) {
    if frames.contains(.ready) { passReady() }
    try writeAll(frames.flatMap(\.bytes), until: deadline)
  }

  /// Tells the other end why there will be no READY, as far as it listens within a moment.
  mutating func abort(_ reason: AbortReason, within pause: Duration = .seconds(1)) {
    let deadline = BootInstant.now().advanced(by: pause)
    try? writeAll(PairingFrame.abort(reason).bytes, until: deadline)
    close(by: deadline)
  }
}
