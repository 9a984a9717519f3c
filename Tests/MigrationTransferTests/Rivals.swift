import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport

@testable import MigrationTransfer

/// Two sessions of one device at a real receiver: the older one has sent a file and ends its
/// archive, while the newer one comes back with an offer of the same root.
final class Rivals: Sendable {
  /// The last that a session heard.
  enum Answer: Equatable, Sendable {
    case done(Tally)
    /// Without a code where the connection was cut.
    case closed(Close.Code?)
  }

  /// The outcome of one race.
  struct Outcome: Sendable {
    let older: Answer
    let newer: Answer
    /// Whether the newer one's offer was taken, so that it sent a file too.
    let isNewerAccepted: Bool
    let failure: TransferFailure?
  }

  private static let root = Root(kind: .directory, name: Array("root".utf8))
  private static let content = Array("hello".utf8)
  static let olderTotal = Tally(items: 2, bytes: 5)
  static let newerTotal = Tally(items: 3, bytes: 10)

  let destination: Scratch
  let receiver: RunningReceiver
  private let isConnected = Condition(false)
  private let mayStart = AtomicFlag()

  /// The cause that holds the receiver's threads up, if there is one.
  private let meeting: Meeting?

  init(meeting: Meeting? = nil) throws {
    self.meeting = meeting
    let destination = try Scratch()
    self.destination = destination
    let importer = FolderImporter(try StagingArea(at: Array(destination.path.utf8)))
    receiver = try RunningReceiver(
      destination, giveUpAfter: 60,
      importer: meeting.map { meeting in SlowImporter(importer) { meeting.hold($0, $1) } } ?? importer
    )
  }

  /// Whether either session may be the faster one.
  var isOpen: Bool { meeting?.holdsFinish != true }

  /// Lets the older one say FINISH so much later than the newer one comes back; with `isLying` it
  /// sends one file more, right before, that its FINISH knows nothing of.
  func race(lead: Duration, isLying: Bool) throws -> Outcome {
    let port = try receiver.port()
    var older = try StrangeClient(port: port).pair(try receiver.events.code())
    guard let accept = try older.begin(Self.offer) else { throw TookTooLong("an acceptance") }
    let keys = accept.keys
    var stream = try older.join(port, Join(session: accept.session, stream: 0))
    try stream.say(try Self.frame("older", keys).frame(0))
    try Self.awaitAcknowledgement(&stream)
    defer { mayStart.set() }
    let identity = older.identity
    let newer = try RunningThread("newer session") { [self] in try comeBack(port, identity, accept.transfer) }
    _ = try isConnected.wait(for: "the newer session's connection") { $0 ? true : nil }
    let finish = BootInstant.now().advanced(by: lead)
    mayStart.set()
    while BootInstant.now() < finish {}
    if isLying { try? stream.say(try Self.frame("late", keys).frame(1)) }
    older.control.say(.notStored(NotStored(path: Array("root/gone".utf8), .vanished)))
    meeting?.holdFinish()
    older.control.say(.finish(try Self.finish(["root", "root/older"], accept.keys)))
    let answer = try Self.lastWord(&older)
    stream.connection.close()
    older.control.close()
    let (newerAnswer, isAccepted) = try newer.value(until: .now() + .seconds(2 * patience))
    return Outcome(
      older: answer, newer: newerAnswer, isNewerAccepted: isAccepted, failure: receiver.failure())
  }

  // MARK: The newer session

  private func comeBack(
    _ port: UInt16, _ identity: Identity, _ transfer: TransferID
  ) throws -> (Answer, isAccepted: Bool) {
    let client = try StrangeClient(port: port, identity: identity)
    isConnected.withLock { $0 = true }
    isConnected.broadcast()
    while !mayStart.isSet {}
    var isAccepted = false
    do {
      var sender = try client.comeBack()
      let session = try sender.offer(Self.offer, continuing: transfer)?.session ?? 0
      let reply = try sender.next { message -> (accept: Accept?, answer: Answer?)? in
        switch message {
        case .accept(let accept): (accept, nil)
        case .done(let done): (nil, .done(done.total))
        case .close(let close): (nil, .closed(close.code))
        default: nil
        }
      }
      var answer = reply?.answer
      if let accept = reply?.accept {
        isAccepted = true
        answer = try send(&sender, Begun(transfer: transfer, session: session, keys: accept.keys), port)
      }
      if case .done = answer { sender.control.say(.receipt) }
      sender.control.close()
      return (answer ?? .closed(nil), isAccepted)
    } catch let error as TookTooLong {
      throw error
    } catch {
      return (.closed(nil), isAccepted)
    }
  }

  /// Hears the ledger, drops what it does not know, sends its own file and ends the archive.
  private func send(_ sender: inout StrangeSender, _ accept: Begun, _ port: UInt16) throws -> Answer {
    var held: [Mark] = []
    _ = try sender.next { message in
      if case .held(let page) = message, page.kind == .staged { held += page.marks }
      if case .heldEnd = message { return true }
      return nil
    }
    let known = try ["root", "root/older"].map { try Self.mark($0, accept.keys) }
    let unknown = held.filter { !known.contains($0) }.sorted()
    if !unknown.isEmpty { sender.control.say(.drop(Drop(marks: unknown))) }
    var stream = try sender.join(port, Join(session: accept.session, stream: 0))
    try stream.say(try Self.frame("newer", accept.keys).frame(0))
    try sender.passOn()
    try Self.awaitAcknowledgement(&stream)
    sender.control.say(.finish(try Self.finish(["root", "root/older", "root/newer"], accept.keys)))
    defer { stream.connection.close() }
    return try Self.lastWord(&sender)
  }

  // MARK: Messages

  private static var offer: Offer { StrangeSender.offer([root]) }

  private static func frame(_ name: String, _ keys: TransferKeys) throws -> StrangeFrame {
    var frame = StrangeFrame()
    frame.item(try record("root", .directory))
    frame.file(try record("root/\(name)", .file(size: UInt64(content.count))), content, keys)
    return frame
  }

  private static func mark(_ path: String, _ keys: TransferKeys) throws -> Mark {
    keys.mark(path: try ArchivePath(Array(path.utf8)), generation: 1)
  }

  private static func finish(_ paths: [String], _ keys: TransferKeys) throws -> Finish {
    let digest = try paths.reduce(UInt128(0)) { $0 &+ (try mark($1, keys)) }
    let bytes = (paths.count - 1) * content.count
    return Finish(total: Tally(items: UInt64(paths.count), bytes: UInt64(bytes)), unsent: 0, digest: digest)
  }

  private static func awaitAcknowledgement(_ stream: inout StrangeClient) throws {
    _ = try stream.connection.readExactly(Limits.frameHeader + 16, until: soon())
  }

  /// DONE or CLOSE, the first to come.
  private static func lastWord(_ sender: inout StrangeSender) throws -> Answer {
    do {
      let answer = try sender.next { message -> Answer? in
        switch message {
        case .done(let done): .done(done.total)
        case .close(let close): .closed(close.code)
        default: nil
        }
      }
      return answer ?? .closed(nil)
    } catch let error as TookTooLong {
      throw error
    } catch {
      return .closed(nil)
    }
  }
}

// MARK: Invariants

extension Rivals {
  /// The faults of an outcome.
  func faults(_ outcome: Outcome, isLying: Bool) -> [String] {
    var faults: [String] = []
    func expect(_ condition: Bool, _ fault: String) { if !condition { faults.append(fault) } }
    let names = destination.names().filter { !$0.hasPrefix(".peer-") }
    let imports = receiver.events.all.count { if case .importing = $0 { true } else { false } }
    let isTold = receiver.events.all.contains { if case .done = $0 { true } else { false } }
    if let failure = outcome.failure {
      expect(isLying, "the receiver failed: \(failure)")
      expect(names.isEmpty, "the receiver failed, and has \(names)")
      expect(!isTold, "the receiver failed behind its last word")
      for answer in [outcome.older, outcome.newer] {
        if case .done = answer { faults.append("a session was told that all is done, and the receiver failed") }
      }
      return faults
    }
    expect(imports == 1, "\(imports) imports")
    expect(names == ["root"], "the destination has \(names)")
    let total = outcome.isNewerAccepted ? Self.newerTotal : Self.olderTotal
    let arrived = names == ["root"] ? destination.names("root") : []
    expect(
      arrived == (outcome.isNewerAccepted ? ["newer", "older"] : ["older"]),
      "\(arrived) arrived, and the newer session was \(outcome.isNewerAccepted ? "" : "not ")accepted")
    expect(outcome.newer == .done(total), "the newer session heard \(outcome.newer)")
    switch outcome.older {
    case .done(let done): expect(!outcome.isNewerAccepted && done == total, "the older session heard \(outcome.older)")
    case .closed(let code):
      // A liar's messages behind its FINISH are a violation of its session.
      expect(
        [.superseded, nil].contains(code) || isLying && code == .violation, "the older session heard \(outcome.older)")
    }
    return faults
  }
}
