/// The events of a transfer, from the first to the last.
///
/// The transfer does not depend on a reader. Unread events take at most sixteen mebibytes: only the
/// latest progress waits, and ``PeerEvent/missed(_:)`` counts the events that do not fit. The
/// sequence is for one reader; several readers each get a part. It ends with its transfer, and with
/// an object that is released without a run.
public struct PeerEvents: AsyncSequence, Sendable {
  let buffer: EventBuffer

  public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

  /// Reads the events one by one. It ends after the last event, or when the reading task is
  /// cancelled; the transfer then continues.
  public struct Iterator: AsyncIteratorProtocol {
    let buffer: EventBuffer

    public mutating func next() async -> PeerEvent? { await buffer.next() }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> PeerEvent? { await buffer.next() }
  }
}
