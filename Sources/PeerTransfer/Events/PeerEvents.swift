/// What happens on the way of a transfer, as it happens, to its end.
///
/// Nothing depends on its being read. What waits for a reader takes sixteen mebibytes at most: of progress only the latest waits, and
/// where more does not fit, ``PeerEvent/missed(_:)`` says how much. It is for one reader: of several, each gets a part. It ends with its transfer, and with an object that is let go without a run.
public struct PeerEvents: AsyncSequence, Sendable {
  let buffer: EventBuffer

  public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

  /// Reads them one by one. It ends where nothing more comes, or when the task that reads is cancelled; the transfer goes on then.
  public struct Iterator: AsyncIteratorProtocol {
    let buffer: EventBuffer

    public mutating func next() async -> PeerEvent? { await buffer.next() }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> PeerEvent? { await buffer.next() }
  }
}
