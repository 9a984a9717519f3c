import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// A receiver's connections to its relay (Protocol §16): the registration, and a connection for each
/// call until it is joined. It has its own thread, because looking up the relay's name may block.
final class RelayLink: Sendable {
  /// News for the receiver's loop.
  enum News: Sendable {
    case placed(RelayPlace)
    /// The receiver has no place at the relay, with the reason: a lower-case clause.
    case unplaced(String)
    /// The relay has joined a sender: its connection, its address as the relay states it, and this
    /// device's addresses for it.
    case arrived(Handover<StreamSocket>, SocketAddress, OwnAddresses?)
    /// A sender was reached past the relay.
    case reached(Handover<StreamSocket>)

    var isOfPlace: Bool {
      switch self {
      case .placed, .unplaced: true
      case .arrived, .reached: false
      }
    }
  }

  private struct State {
    /// Where this device listens, while it wants to be registered.
    var wanted: SocketAddress?
    var isOver = false
    /// The secrets of `meetings`, kept to compare: computing a meeting takes a while.
    var secrets: [[UInt8]] = []
    var meetings: [RelayMeeting] = []
    var news: [News] = []
  }

  let access: RelayAccess
  /// Readable when there is news.
  let noticed: Wakeup
  private let changed: Wakeup
  private let state = Mutex(State())

  init(_ access: RelayAccess) throws(SystemError) {
    self.access = access
    (noticed, changed) = (try Wakeup(), try Wakeup())
  }

  /// Starts the thread.
  func start() throws(SystemError) {
    _ = try OwnerThread(name: "relay") { [self] in
      guard let poller = try? Poller() else { return add(.unplaced("there are no descriptors left")) }
      var line = Line(self, poller)
      line.run()
    }
  }

  /// Registers a device that listens at an address, or ends the registration.
  func want(_ listening: SocketAddress?) { change { $0.wanted = listening } }

  /// Ends the thread.
  func end() { change { $0.isOver = true } }

  /// Waits at the meetings of these pairings' secrets too, the newest last.
  func meet(_ secrets: [[UInt8]]) {
    let newest = Array(secrets.suffix(Line.mostMeetings))
    guard newest != state.withLock({ $0.secrets }) else { return }
    let meetings = newest.map { RelayMeeting(ofSecret: $0) }
    change { ($0.secrets, $0.meetings) = (newest, meetings) }
  }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { body(&$0) }
    changed.signal()
  }

  /// The news until now.
  func take() -> [News] {
    noticed.clear()
    return state.withLock { exchange(&$0.news, with: []) }
  }

  /// News of the place replaces that before it, which says nothing any more.
  func add(_ news: News) {
    state.withLock { state in
      if news.isOfPlace { state.news.removeAll(where: \.isOfPlace) }
      state.news.append(news)
    }
    noticed.signal()
  }

  fileprivate var wakeup: Wakeup { changed }
  fileprivate var isOver: Bool { state.withLock { $0.isOver } }
  /// How much news the loop has not taken yet.
  fileprivate var untaken: Int { state.withLock { $0.news.count } }
  fileprivate var wanted: (listening: SocketAddress?, meetings: [RelayMeeting]) {
    state.withLock { ($0.wanted, $0.meetings) }
  }

  /// The thread of a `RelayLink`.
  private struct Line: ~Copyable {
    /// The most meetings of a registration, and the most calls that are answered at a time.
    static let mostMeetings = 64
    private static let mostAnswers = 16
    /// The most frames of a registration in a turn, and the seconds to the next turn behind so many.
    private static let (mostFrames, rest) = (16, 0.05)

    /// A connection on which a relay is asked for something.
    private final class Asking {
      var socket: StreamSocket?
      let errand: RelayErrand
      let until: Double
      /// The caller, as the relay states it.
      let caller: SocketAddress?
      var reader = RelayAccess.Reader()
      var isConnected = false

      init(_ socket: consuming StreamSocket, _ errand: RelayErrand, until: Double, caller: SocketAddress? = nil) {
        self.socket = consume socket
        self.errand = errand
        self.until = until
        self.caller = caller
      }

      var interest: Poller.Interest? {
        guard let raw = socket?.raw else { return nil }
        return Poller.Interest(raw, isConnected ? .readable : .writable)
      }

      func send(_ bytes: [UInt8]) throws(RelayAccess.Trouble) {
        guard (try? socket?.send(bytes.span)) == bytes.count else { throw .lost("it takes nothing") }
      }

      /// The next frame; nil if there is none yet.
      func next() throws(RelayAccess.Trouble) -> RelayFrame? {
        do throws(SystemError) {
          if !isConnected { isConnected = try socket?.finishConnecting() ?? false }
        } catch {
          throw .lost("\(error)")
        }
        guard isConnected else { return nil }
        return try reader.next { (memory) throws(SystemError) in try socket?.receive(into: &memory) ?? nil }
      }
    }

    private let link: RelayLink
    private var poller: Poller
    private var registration: (asking: Asking, state: RelayRegistrationState)?
    /// When the registration, or the next try, has its turn.
    private var nextTurn = 0.0
    private var backoff = Backoff.atRelay
    private var answers: [Asking] = []

    init(_ link: RelayLink, _ poller: consuming Poller) {
      self.link = link
      self.poller = poller
    }

    mutating func run() {
      while !link.isOver {
        let (listening, meetings) = link.wanted
        let now = BootInstant.now().seconds
        if listening == nil {
          (registration, nextTurn) = (nil, 0)
        } else if registration == nil {
          if now >= nextTurn {
            register()
            // It may have cleared the wakeup: what the link wants is asked again before the next wait.
            continue
          }
        } else {
          keep(meetings, now)
        }
        wait()
        step()
      }
    }

    /// Waits for the next thing to do.
    private mutating func wait() {
      var moments = answers.map(\.until)
      var interests = [Poller.Interest(link.wakeup.raw, .readable)]
      if let registration {
        moments.append(registration.state.nextMoment)
        if nextTurn > BootInstant.now().seconds {
          moments.append(nextTurn)
        } else {
          interests += [registration.asking].compactMap(\.interest)
        }
      } else if link.wanted.listening != nil {
        moments.append(nextTurn)
      }
      interests += answers.compactMap(\.interest)
      _ = try? poller.wait(&interests, until: moments.min().map { BootInstant(seconds: $0) })
      link.wakeup.clear()
    }

    private mutating func step() {
      let now = BootInstant.now().seconds
      do throws(RelayAccess.Trouble) {
        if let asking = registration?.asking, now >= nextTurn { try read(asking, now) }
        if let silentAt = registration?.state.silentAt, now >= silentAt { throw .lost("it does not answer") }
      } catch {
        lose(error, now)
      }
      answers = answers.filter { isOpen($0, now) }
    }

    // MARK: The registration

    /// Connects. Blocks while the relay's name is looked up and its addresses are tried: there is
    /// nothing else to do.
    private mutating func register() {
      do {
        let addresses = try Dialing.addresses(of: link.access.place)
        let link = link
        let socket = try Race(
          addresses: addresses, patience: RelayRegistrationState.patience, wakeup: link.wakeup,
          isStopped: { link.isOver }
        ).run()
        let now = BootInstant.now().seconds
        let asking = Asking(socket, .register, until: now + RelayRegistrationState.patience)
        asking.isConnected = true
        registration = (asking, RelayRegistrationState(now: now))
      } catch let error as Failure {
        lose(.lost(error.message))
      } catch Race.End.lost(_, _, let error) {
        lose(.lost("\(error)"))
      } catch {
        lose(.lost("it cannot be reached"))
      }
    }

    /// Says what is due on the registration.
    private mutating func keep(_ meetings: [RelayMeeting], _ now: Double) {
      do throws(RelayAccess.Trouble) {
        for frame in registration?.state.due(meetings, now: now) ?? [] { try registration?.asking.send(frame.bytes) }
      } catch {
        lose(error, now)
      }
    }

    /// Reads what the relay says, so much in a turn that a flood of it leaves the thread idle.
    private mutating func read(_ asking: Asking, _ now: Double) throws(RelayAccess.Trouble) {
      for _ in 0..<Self.mostFrames {
        guard let frame = try advance(asking) else { return }
        switch try registration?.state.take(frame, now: now) {
        case .placed(let place): link.add(.placed(place))
        case .rung(let call, let caller): answer(call, caller, now)
        case nil: break
        }
      }
      nextTurn = now + Self.rest
    }

    private mutating func lose(_ trouble: RelayAccess.Trouble, _ now: Double = BootInstant.now().seconds) {
      let stood = registration?.state.age(now: now) ?? 0
      let pause = backoff.next(behind: trouble, stood: stood, spread: .random(in: 0...1))
      (registration, nextTurn) = (nil, now + pause)
      link.add(.unplaced(trouble.clause))
    }

    // MARK: Calls

    private mutating func answer(_ call: RelayCall, _ caller: InternetAddress, _ now: Double) {
      guard answers.count + link.untaken < Self.mostAnswers,
        let address = registration?.asking.socket?.remoteAddress,
        let socket = try? StreamSocket.connect(to: address, from: .shareable)
      else { return }
      answers.append(
        Asking(socket, .answer(call), until: now + RelayRegistrationState.patience, caller: SocketAddress(caller)))
    }

    /// Takes a step of a call; false once it is joined, or has failed.
    private func isOpen(_ asking: Asking, _ now: Double) -> Bool {
      do throws(RelayAccess.Trouble) {
        guard let frame = try advance(asking) else { return now < asking.until }
        if case .joined(let seen) = frame, let caller = asking.caller, let socket = asking.socket.take() {
          let own = (try? socket.localAddress()).flatMap {
            OwnAddresses(dialling: $0, seen: seen, listening: link.wanted.listening)
          }
          link.add(.arrived(Handover(socket), caller, own))
        }
        return false
      } catch {
        // The caller hears of it from the relay.
        return false
      }
    }

    /// The next frame behind the challenge, which is answered; nil if there is none yet.
    private func advance(_ asking: Asking) throws(RelayAccess.Trouble) -> RelayFrame? {
      let frame = try asking.next()
      guard case .challenge(let challenge)? = frame else { return frame }
      guard let request = try? link.access.request(asking.errand, challenge: challenge) else {
        throw .lost("there is no chance")
      }
      try asking.send(request)
      return nil
    }
  }
}
