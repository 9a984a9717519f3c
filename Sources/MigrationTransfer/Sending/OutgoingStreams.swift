import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The data streams of a session: opened a few at a time, replaced when they break, and as many as help (Protocol §7.3).
struct OutgoingStreams {
  typealias StreamNumber = SendQueue.StreamNumber

  /// How many streams may be lost while nothing arrives at the receiver.
  private static let losses = 16
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
  /// The streams that have not joined yet, and those that are not on their way because so many others are.
  private var opening: Set<StreamNumber> = []
  private var queued: [Opening] = []
  private var nextNumber: StreamNumber = 0
  /// How many are still to be opened.
  private var missing = 0
  /// How many streams were lost since so much had arrived.
  private var lost = (count: 0, arrived: Tally())
  private var lastLook = BootInstant.now()

  /// What a stream begins with.
  private struct Opening: Sendable {
    let join: Join
    let wakeup: Wakeup
    /// How long to wait first, after how many losses.
    let pause: Double
    let attempts: Int
  }

  init(_ queue: SendQueue, _ context: Context) {
    self.queue = queue
    self.context = context
    let limit = Int(context.accept.streams)
    if let fixed = context.surroundings.streams {
      missing = max(1, min(Int(fixed), limit))
    } else {
      let count = StreamCount(count: context.transfer.streams, limit: limit, now: lastLook.seconds)
      self.count = count
      missing = count.count
    }
  }

  /// Opens streams that are missing. Unless the user has fixed their number, all but the first come once there is
  /// something for them to carry.
  mutating func openMissing() throws {
    while missing > 0, opening.count < Self.places,
      count == nil || live.isEmpty || queue.waitingFrames > opening.count
    {
      missing -= 1
      try open(replacing: nil)
    }
  }

  /// A stream has joined.
  mutating func joined(_ number: StreamNumber) throws {
    opening.remove(number)
    try startQueued()
    try openMissing()
  }

  /// A stream broke: opens another one for it; the more break while nothing arrives, the later.
  mutating func lost(_ number: StreamNumber) throws {
    opening.remove(number)
    if queue.arrived != lost.arrived { lost = (0, queue.arrived) }
    lost.count += 1
    guard lost.count <= Self.losses else { throw ConnectionError(.lost, "the data connections keep breaking") }
    queue.lost(number, replacedBy: nextNumber)
    try open(replacing: number, after: lost.count == 1 ? 0 : min(2, 0.01 * Double(1 << lost.count)))
  }

  /// When it is time to look how they do; never where their number is fixed.
  var nextLook: BootInstant? { count == nil ? nil : lastLook.advanced(by: Self.lookPause) }

  /// Looks how they do, and opens or ends some.
  mutating func look() throws {
    guard let nextLook, BootInstant.now() >= nextLook else { return }
    lastLook = .now()
    try openMissing()
    let isComplete = missing == 0 && opening.isEmpty && queued.isEmpty
    switch count?.look(queue.observation(of: live, isComplete: isComplete, now: lastLook.seconds)) {
    case nil, .stay: return
    case .open(let more):
      missing += more
      try openMissing()
    case .end(let surplus):
      for number in live.suffix(surplus) { queue.retire(number) }
      live.removeLast(surplus)
    }
    context.transfer.streams = count?.count ?? 1
  }

  private mutating func open(replacing broken: StreamNumber?, after pause: Double = 0) throws {
    let number = nextNumber
    nextNumber += 1
    if let broken {
      // One that was to end is replaced only for what it had under way.
      if let place = live.firstIndex(of: broken) { live[place] = number }
    } else {
      live.append(number)
    }
    let wakeup = try Wakeup()
    queue.register(number, wakeup)
    let join = Join(session: context.accept.session, stream: number, replaces: broken)
    queued.append(Opening(join: join, wakeup: wakeup, pause: pause, attempts: lost.count))
    try startQueued()
  }

  private mutating func startQueued() throws {
    while opening.count < Self.places, !queued.isEmpty { try start(queued.removeFirst()) }
  }

  private mutating func start(_ stream: Opening) throws {
    let number = stream.join.stream
    opening.insert(number)
    let (context, queue) = (context, queue)
    try context.threads.start("stream \(number)") {
      do {
        if stream.pause > 0 { try queue.pause(seconds: stream.pause) }
        try Self.run(stream, context, queue)
        queue.ended(number)
      } catch let error as ArchiveError where error.code == .stopped {
        // Whoever stopped it knows why.
      } catch is ConnectionError {
        context.mailbox.post(.streamLost(number))
      } catch {
        context.mailbox.post(.failed(SessionFailure(error)))
      }
    }
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
      attempts: opening.attempts)
    try stream.run()
  }
}
