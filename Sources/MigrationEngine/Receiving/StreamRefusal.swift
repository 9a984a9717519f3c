import MigrationWire

/// The reason why no data stream begins on a connection that has sent JOIN (Protocol §7.3). The
/// session continues, and another connection may succeed.
enum StreamRefusal: Equatable, Sendable {
  /// It is for one session, and another session is running.
  case otherSession(SessionID, current: SessionID)
  /// A stream of its number has joined before.
  case used(UInt32)
  /// It may be one of the replaced streams; `least` is the least number that may still join.
  case late(UInt32, least: UInt32)
  /// It is to replace itself.
  case itself(UInt32)
  /// It was replaced before it was served.
  case replaced(UInt32)
  /// The greatest number of streams has joined.
  case tooMany(UInt32, joined: Int)

  /// The sender's answer on that connection. Every sender connects again after this code.
  var close: Close {
    switch self {
    case .otherSession(let session, let current):
      Close(
        .silent,
        "a stream of session \(session.hexadecimal) cannot join, since session \(current.hexadecimal) is running")
    case .used(let number):
      Close(.silent, "stream \(number) cannot join, since a stream of that number has joined before")
    case .late(let number, let least):
      Close(.silent, "stream \(number) may have been replaced, so the next number is at least \(least)")
    case .itself(let number): Close(.silent, "stream \(number) cannot replace itself")
    case .replaced(let number): Close(.silent, "stream \(number) was replaced before it was served")
    case .tooMany(let number, let joined):
      Close(
        .silent, "stream \(number) cannot join, since \(joined) of \(ReceiverEngine.streams) streams have joined")
    }
  }
}
