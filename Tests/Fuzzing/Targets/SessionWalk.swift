import FuzzDriver
import MigrationEngine
import MigrationWire

/// Both ends of a conversation. Each message that one says goes to the other, where it must be
/// valid. Between them come messages of the input, which each end takes or refuses.
///
/// After a message that was refused the conversation ends, as it does in a program.
struct SessionWalk {
  private var input: InputBytes
  private var sender = Conversation(of: .sender)
  private var receiver = Conversation(of: .receiver)
  /// Messages that are valid at the other end: nothing of the input came before them.
  private var isIntact = true
  private var lastMark: Mark = 0
  private var hasGreeted = false
  private var plan: Plan?
  /// The parts that the verdict takes, and the next one to offer.
  private var taken: [UInt16] = []
  private var hasVerdict = false
  private var hasReceipt = false
  private var accepted: Accept?

  init(_ input: ArraySlice<UInt8>) { self.input = InputBytes(input) }

  mutating func run() {
    while !input.isEmpty { guard step() else { return } }
  }

  /// One event; false after one that ends the conversation.
  private mutating func step() -> Bool {
    switch input.byte() % 16 {
    case 0: return hostile(toSender: input.flag())
    case 1: return greet()
    case 2: return offer()
    case 3: return accept()
    case 4: return report()
    case 5: return drop()
    case 6: return toReceiver { $0.isStreaming ? $0.name(NotStored(path: [97], .vanished)) : nil }
    case 7: return toReceiver { $0.isStreaming ? $0.say(.finish(Finish(total: Tally(), unsent: 0, digest: 0))) : nil }
    case 8:
      return toSender { $0.isFinishing ? $0.say(.progress(ImportProgress(phase: .importing, done: 1, total: 2))) : nil }
    case 9: return toSender { $0.isFinishing ? $0.say(.done(Done(total: Tally()))) : nil }
    case 10: return receipt()
    case 11: return say()
    case 12: return judge()
    case 13: return toReceiver { $0.isRunning && !$0.isFinishing ? $0.fail(Self.reason) : nil }
    case 14: return toSender { $0.isRunning ? $0.fail(Self.reason) : nil }
    default: return toSender { $0.name(NotStored(path: Self.path, generation: 1, .other)) }
    }
  }

  private static let reason = Close(.storage, "")

  private static let path: ArchivePath = {
    guard let path = try? ArchivePath(Array("root".utf8)) else { preconditionFailure("a good path") }
    return path
  }()

  /// A message of any bytes.
  private mutating func hostile(toSender: Bool) -> Bool {
    let type = FrameType(rawValue: 0x10 + input.byte() % 22)
    let body = input.part()
    guard let message = read({ () throws(Violation) in try ControlMessage(type, body.span, 0..<body.count) }) else {
      return true
    }
    isIntact = false
    return toSender ? tell(sender: message) : tell(receiver: message)
  }

  // MARK: Honest messages

  private mutating func greet() -> Bool {
    guard !hasGreeted else { return true }
    hasGreeted = true
    return tell(receiver: .greeting(Greeting(role: .sender, label: "", software: "", features: .zstd)))
      && tell(sender: .greeting(Greeting(role: .receiver, label: "", software: "", features: [])))
  }

  /// Says a plan of one to three parts.
  private mutating func say() -> Bool {
    guard hasGreeted, isIntact, plan == nil else { return true }
    let part = Part(.folders([Root(kind: .directory, name: [97])]), name: "a")
    let plan = Plan(
      Array(repeating: part, count: 1 + input.number(below: 3)), continuing: input.flag() ? 7 : nil)
    self.plan = plan
    return tell(receiver: sender.say(.plan(plan)))
  }

  /// Answers it.
  private mutating func judge() -> Bool {
    guard let plan, isIntact, receiver.isPlanned else { return true }
    let parts: [Verdict.Judgement] = plan.parts.indices.map { number in
      if input.flag() { return .refused(Self.reason) }
      taken.append(UInt16(number))
      return .taken()
    }
    hasVerdict = true
    return tell(
      sender: receiver.say(
        .verdict(Verdict(transfer: 7, session: 8, window: Limits.window, streams: 4, parts: parts))))
  }

  private mutating func offer() -> Bool {
    guard isIntact, sender.isBetween, receiver.isBetween, !taken.isEmpty else { return true }
    (accepted, lastMark) = (nil, 0)
    let totals = PartTotals(part: taken.removeFirst(), items: 3, bytes: 9, allocated: 9)
    return tell(receiver: sender.offer(totals, earlier: .unknown))
  }

  private mutating func receipt() -> Bool {
    guard isIntact, hasVerdict, taken.isEmpty, sender.isBetween, receiver.isBetween, !hasReceipt else { return true }
    hasReceipt = true
    return tell(receiver: sender.say(.receipt))
  }

  private mutating func accept() -> Bool {
    guard receiver.isOffered, isIntact else { return true }
    let accept = Accept(keys: TransferKeys(hashKey: 2), traits: DestinationTraits())
    accepted = accept
    return tell(sender: receiver.say(.accept(accept)))
  }

  private mutating func report() -> Bool {
    guard accepted != nil, isIntact, receiver.isRunning else { return true }
    accepted = nil
    let marks = (0..<input.number(below: 4)).map { Mark($0) }
    if !marks.isEmpty, !tell(sender: receiver.say(.held(Held(kind: .staged, marks: marks)))) { return false }
    return tell(sender: receiver.say(.heldEnd(HeldEnd(held: Tally(items: UInt64(marks.count), bytes: 0)))))
  }

  private mutating func drop() -> Bool {
    guard sender.isStreaming else { return true }
    lastMark += 1 + Mark(input.byte())
    return tell(receiver: sender.say(.drop([lastMark])))
  }

  private mutating func toReceiver(_ say: (inout Conversation) -> ControlMessage?) -> Bool {
    guard let message = say(&sender) else { return true }
    return tell(receiver: message)
  }

  private mutating func toSender(_ say: (inout Conversation) -> ControlMessage?) -> Bool {
    guard let message = say(&receiver) else { return true }
    return tell(sender: message)
  }

  // MARK: Delivery

  private mutating func tell(receiver message: ControlMessage) -> Bool {
    do throws(Violation) {
      let isSettling = receiver.isSettling
      guard try receiver.received(message), case .failed(let failed) = message, !isSettling else { return true }
      return tell(sender: .failed(failed.answer))
    } catch {
      promise(!isIntact, "a message of an honest sender is refused: \(error)")
      return false
    }
  }

  private mutating func tell(sender message: ControlMessage) -> Bool {
    do throws(Violation) {
      let isSettling = sender.isSettling
      guard try sender.received(message), case .failed(let failed) = message, !isSettling else { return true }
      return tell(receiver: .failed(failed.answer))
    } catch {
      promise(!isIntact, "a message of an honest receiver is refused: \(error)")
      return false
    }
  }
}

/// A control connection. Bytes come in any parts, messages are said, time passes. The number of
/// unsent bytes is the difference between the said and the sent bytes.
struct ChannelWalk {
  private var input: InputBytes
  private var channel = ControlChannel(now: 0)
  private var now = 0.0
  private var said = 0
  private var sent = 0

  init(_ input: ArraySlice<UInt8>) { self.input = InputBytes(input) }

  mutating func run() {
    while !input.isEmpty {
      switch input.byte() % 6 {
      case 0, 1:
        channel.received(input.part().span, now: now)
        guard takeAll() else { return }
      case 2:
        channel.say(.ping(1))
        said += ControlMessage.ping(1).frame.count
      case 3:
        let count = min(input.number(below: 64), channel.unsent)
        channel.sent(count, now: now)
        sent += count
      case 4:
        // A frame that comes in two parts.
        let frame = ControlMessage.pong(input.u64()).frame
        let cut = input.number(below: frame.count)
        channel.received(Array(frame[..<cut]).span, now: now)
        channel.received(Array(frame[cut...]).span, now: now)
        guard takeAll() else { return }
      default: now = input.flag() ? max(now, channel.nextMoment) : now + input.seconds()
      }
      promise(channel.unsent == said - sent, "unsent bytes are counted wrongly")
      promise(channel.outgoing.count <= said - sent + 256 << 10 + 64, "sent bytes are kept")
      promise(channel.nextMoment.isFinite, "nothing is awaited")
    }
  }

  private mutating func takeAll() -> Bool {
    do throws(Violation) {
      while let message = try channel.next() {
        promise(message.frame.count <= Limits.frameHeader + Limits.frameBody, "a message beyond its limit")
      }
      return true
    } catch { return false }
  }
}
