import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The data streams of a session: opened a few at a time, replaced when they break, and as many as help (Protocol §7.3).
struct OutgoingStreams {
  typealias StreamNumber = SendQueue.StreamNumber

  /// How often in a row a stream may be lost without having brought anything.
  private static let losses = 16
  /// After so many tries, one that has never joined and carries nothing is given up: something on the way wants no more.
  private static let refusals = 4
  /// How many may be on their way to joining, since the receiver has few places for those that have not.
  private static let places = 2
  /// How often it is looked how they do.
  static let lookPause = Duration.milliseconds(100)

  /// How a thread reaches what it needs.
  struct Context: Sendable {
    let accept: Accept
    let transfer: OutgoingTransfer
    let surroundings: SenderControl.Surroundings
    let mailbox: Mailbox<SenderNews>
    let threads: ThreadGroup
    /// Whether they compress what they carry.
    let compression: CompressionKnowledge
  }

  private let context: Context
  private let queue: SendQueue
  /// Nil where the user has fixed the number.
  private var count: StreamCount?
  /// The streams that are to stay.
  private var live: [StreamNumber] = []
  /// What every stream began with that has not come to its end.
  private var begun: [StreamNumber: Opening] = [:]
  /// The streams that are on their way to joining, and those that are not yet.
  private var opening: Set<StreamNumber> = []
  private var queued: [Opening] = []
  private var nextNumber: StreamNumber = 0
  /// How many are still to be opened.
  private var missing = 0
  private var lastLook = BootInstant.now()

  /// What a stream begins with.
  private struct Opening: Sendable {
    let join: Join
    let wakeup: Wakeup
    /// When it may be on its way.
    let due: BootInstant
    /// How many before it in its line were lost without having brought anything.
    let attempts: Int
  }

  init(_ queue: SendQueue, _ context: Context) {
    self.queue = queue
    self.context = context
    if let fixed = context.surroundings.streams {
      missing = max(1, min(Int(fixed), limit))
    } else {
      let count = StreamCount(count: context.transfer.streams, limit: limit, now: lastLook.seconds)
      self.count = count
      missing = count.count
    }
  }

  /// How many the receiver takes.
  private var limit: Int { Int(context.accept.streams) }

  /// Opens streams that are missing. Unless the user has fixed their number, all but the first come once more waits than
  /// those carry that come up, and one that has just come.
  mutating func openMissing() throws {
    while missing > 0, opening.count < Self.places, queue.streams < limit,
      count == nil || live.isEmpty || queue.waitingFrames > opening.count + 1
    {
      missing -= 1
      let number = try enqueue(replacing: nil)
      live.append(number)
      try startQueued()
    }
  }

  /// A stream has joined.
  mutating func joined(_ number: StreamNumber) throws {
    opening.remove(number)
    try startQueued()
    try openMissing()
  }

  /// A stream broke: another one comes for it, the later the more were lost in vain.
  mutating func lost(_ number: StreamNumber) throws {
    guard let broken = begun.removeValue(forKey: number) else { return }
    // One that has not joined has not said that it comes: its heir replaces whom it was to replace.
    let hadJoined = opening.remove(number) == nil
    if !hadJoined, broken.join.replaces == nil, giveUp(number, after: broken.attempts + 1) {
      queue.ended(number)
      return try startQueued()
    }
    let next = nextNumber
    let hasBrought = queue.lost(number, replacedBy: next)
    let attempts = hasBrought ? 1 : broken.attempts + 1
    guard attempts <= Self.losses else { throw ConnectionError(.lost, "the data connections keep breaking") }
    try enqueue(
      replacing: hadJoined ? number : broken.join.replaces,
      after: attempts == 1 ? 0 : min(2, 0.01 * Double(1 << attempts)), attempts: attempts)
    // One that was to end is replaced only for what it had under way.
    if let place = live.firstIndex(of: number) { live[place] = next }
    try startQueued()
  }

  /// Gives up a stream that has never joined and carries nothing, if it was to end, or others do well without it.
  private mutating func giveUp(_ number: StreamNumber, after attempts: Int) -> Bool {
    guard let place = live.firstIndex(of: number) else { return true }
    guard attempts >= Self.refusals, live.count > 1 else { return false }
    live.remove(at: place)
    count?.cannotOpen(now: BootInstant.now().seconds)
    return true
  }

  /// When it is time to look again.
  var nextLook: BootInstant? {
    let start = opening.count < Self.places ? queued.map(\.due).min() : nil
    let look = count == nil ? nil : lastLook.advanced(by: Self.lookPause)
    return [start, look].compactMap { $0 }.min()
  }

  /// Starts what is due, looks how the streams do, and opens or ends some.
  mutating func look() throws {
    try startQueued()
    guard count != nil, BootInstant.now() >= lastLook.advanced(by: Self.lookPause) else { return }
    lastLook = .now()
    try openMissing()
    let isComplete = missing == 0 && opening.isEmpty && queued.isEmpty
    switch count?.look(queue.observation(of: live, isComplete: isComplete, now: lastLook.seconds)) {
    case nil, .stay: break
    case .open(let more):
      missing += more
      try openMissing()
    case .end(let surplus):
      for number in live.suffix(surplus) { queue.retire(number) }
      live.removeLast(surplus)
    }
    context.transfer.streams = count?.found ?? 1
  }

  @discardableResult
  private mutating func enqueue(
    replacing broken: StreamNumber?, after pause: Double = 0, attempts: Int = 0
  ) throws -> StreamNumber {
    let number = nextNumber
    nextNumber += 1
    let wakeup = try Wakeup()
    queue.register(number, wakeup)
    let join = Join(session: context.accept.session, stream: number, replaces: broken)
    let due = BootInstant.now().advanced(by: .seconds(pause))
    let stream = Opening(join: join, wakeup: wakeup, due: due, attempts: attempts)
    begun[number] = stream
    queued.append(stream)
    return number
  }

  private mutating func startQueued() throws {
    let now = BootInstant.now()
    while opening.count < Self.places, let index = queued.firstIndex(where: { $0.due <= now }) {
      try start(queued.remove(at: index))
    }
  }

  private mutating func start(_ stream: Opening) throws {
    let number = stream.join.stream
    opening.insert(number)
    let (context, queue) = (context, queue)
    try context.threads.start("stream \(number)") {
      do {
        try Self.run(stream, context, queue)
        queue.ended(number)
      } catch let error as ArchiveError where error.code == .stopped {
        // Whoever stopped it knows why.
      } catch  where Self.isLoss(error) {
        context.mailbox.post(.streamLost(number))
      } catch {
        context.mailbox.post(.failed(Fault(error)))
      }
    }
  }

  /// Whether a stream ended in a way that another one may do better: cut, or turned away at a busy door.
  private static func isLoss(_ error: any Error) -> Bool {
    if let error = error as? ConnectionError { return error.code != .violated }
    return error as? AbortReason == .busy
  }

  /// Connects, joins, and sends until there is nothing more for this stream; its thread is the caller's.
  private static func run(
    _ opening: Opening, _ context: Context, _ queue: SendQueue
  ) throws {
    let surroundings = context.surroundings
    let dialing = Dialing(target: surroundings.dialing.target, context: surroundings.dialing.context) {
      queue.isStopped
    }
    var connection = try dialing.connect(to: surroundings.addresses, wakeup: opening.wakeup)
    try ClientPairing.come(
      back: .join, on: &connection, to: context.transfer.receiver,
      until: BootInstant.now().advanced(by: .seconds(10)))
    context.mailbox.post(.streamJoined(opening.join.stream))
    var stream = OutgoingData(
      connection, opening.join, queue: queue, compression: context.compression, patience: surroundings.stallPatience,
      attempts: opening.attempts, traffic: context.transfer.traffic)
    try stream.run()
  }
}
