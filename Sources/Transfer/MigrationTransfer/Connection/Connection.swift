import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// A TLS session on a socket. One thread owns it. Only `wait`, and the methods that use it, block.
///
/// Another thread ends every wait by signalling the wakeup.
struct Connection: ~Copyable, Sendable {
  /// The most reads of one step of closing.
  private static let readsAtTheEnd = 16

  /// The reason for which a wait ended.
  enum Awakening: Equatable {
    /// Bytes may have arrived, or may be sent.
    case socket
    /// Another thread has signalled the wakeup.
    case wakeup
    case deadline
  }

  let remoteAddress: SocketAddress
  /// This end's address as the relay sees it; nil if no relay has joined the connection.
  var seen: InternetAddress?
  let wakeup: Wakeup
  private let isStopped: @Sendable () -> Bool
  private let socket: StreamSocket
  /// Tests send forbidden bytes on it.
  var session: TLSSession
  private var poller: Poller
  private var isAtEnd = false
  private var bound = ReadBound()
  private var ending = ClosingState.notBegun
  /// The last received bytes, as many as a relay says before it cuts a connection (Protocol §16.3).
  private var lastBytes: [UInt8] = []

  /// The progress of closing.
  private enum ClosingState {
    case notBegun
    /// close_notify is queued.
    case said
    /// close_notify is sent, and the other end's has not arrived.
    case sent
  }

  /// Takes over a connected socket. The other end must have the pinned key, if there is one.
  /// `isStopped` says whether a wakeup means that the owner is to give up, as long as it waits for
  /// something of the other end.
  init(
    _ socket: consuming StreamSocket, _ context: TLSContext, pinned: KeyFingerprint? = nil, wakeup: Wakeup,
    isStopped: @escaping @Sendable () -> Bool = { true }
  ) throws(ConnectionError) {
    try SystemError.mapped(socket.setNoDelay()) { ConnectionError($0) }
    try SystemError.mapped(socket.setUserTimeout(.seconds(Int(Heartbeat.silence)))) { ConnectionError($0) }
    let poller = try SystemError.mapped(Poller()) { ConnectionError($0) }
    let session = try TLSError.mapped(TLSSession(context, pinned: pinned)) { ConnectionError($0) }
    self.init(socket, session, poller, wakeup, isStopped)
  }

  /// Nothing throws here: Swift 6.2 would destroy twice what a value has that it cannot complete.
  private init(
    _ socket: consuming StreamSocket, _ session: consuming TLSSession, _ poller: consuming Poller, _ wakeup: Wakeup,
    _ isStopped: @escaping @Sendable () -> Bool
  ) {
    remoteAddress = socket.remoteAddress
    self.wakeup = wakeup
    self.isStopped = isStopped
    self.poller = poller
    self.session = session
    self.socket = socket
  }

  /// This device's addresses for the other end; nil if no relay has joined the connection.
  var own: OwnAddresses? {
    guard let seen, let local = try? socket.localAddress() else { return nil }
    return OwnAddresses(dialling: local, seen: seen)
  }

  /// The other end's key; known after the handshake.
  var peerFingerprint: KeyFingerprint? { session.peerFingerprint }

  /// The values that tie a pairing to this connection.
  func channelBinding() throws(ConnectionError) -> [UInt8] {
    try TLSError.mapped(session.channelBinding()) { ConnectionError($0) }
  }

  /// The secret by which the ends of a pairing meet at relays.
  func meetingSecret() throws(ConnectionError) -> [UInt8] {
    try TLSError.mapped(session.meetingSecret()) { ConnectionError($0) }
  }

  /// Ends the kernel's time limit for acknowledgements. A slow disk may stop a data stream for as long as the control
  /// connection lives (Protocol §7.4), and the kernel would take a receiver without room for a dead
  /// one.
  func allowStalls() throws(ConnectionError) {
    try SystemError.mapped(socket.setUserTimeout(.zero)) { ConnectionError($0) }
  }

  /// Keeps bytes that cannot be sent yet out of the kernel: bytes in its buffer cannot move to
  /// another connection, and they precede more urgent ones.
  func keepUnsentLow() throws(ConnectionError) {
    try SystemError.mapped(socket.setUnsentLimit(bytes: 256 << 10)) { ConnectionError($0) }
  }

  /// How many bytes the other end's kernel does not have yet.
  var waitingBytes: Int { socket.waitingBytes }

  /// For how many seconds the other end's kernel has answered nothing of what is sent again.
  var unanswered: Double { socket.unanswered }

  /// READY was sent or received: only the rate of later bytes is bounded.
  mutating func passReady() { bound.passReady() }

  // MARK: Without waiting

  /// Reads received bytes into a part of an array; nil when there are none. Zero bytes are the
  /// other end's close_notify.
  ///
  /// It reads from the socket at most once. After nil the owner waits, and so checks its deadline
  /// and its wakeup, before it reads again: bytes without plaintext cannot keep it busy.
  mutating func read(into target: inout [UInt8], _ range: Range<Int>) throws(ConnectionError) -> Int? {
    if let count = try decrypt(into: &target, range) { return count }
    guard try receive() else { return nil }
    return try decrypt(into: &target, range)
  }

  private mutating func decrypt(into target: inout [UInt8], _ range: Range<Int>) throws(ConnectionError) -> Int? {
    let step = try TLSError.mapped(session.read(into: &target, range)) { relayCut ?? ConnectionError($0) }
    try bound.check(session.silent, now: .now())
    switch step {
    case .bytes(let count): return count
    case .closed: return 0
    case .needsInput: return nil
    }
  }

  /// Accepts as many bytes of a part of an array as there is room for, and sends as many as
  /// possible, unless more follow at once. Returns the number of accepted bytes.
  mutating func write(
    _ source: [UInt8], _ range: Range<Int>, isMore: Bool = false
  ) throws(ConnectionError) -> Int {
    var next = range.lowerBound
    while next < range.upperBound {
      let step = try TLSError.mapped(session.write(source.span.extracting(next..<range.upperBound))) {
        ConnectionError($0)
      }
      if case .bytes(let count) = step { next += count }
      if isMore, next == range.upperBound { break }
      guard try flush() else { break }
    }
    return next - range.lowerBound
  }

  /// Sends pending ciphertext. Returns whether all of it is sent.
  @discardableResult
  mutating func flush() throws(ConnectionError) -> Bool {
    while session.pendingOutput > 0 {
      var isFull = false
      _ = try SystemError.mapped(
        session.send { (bytes) throws(SystemError) in
          guard let count = try socket.send(bytes) else {
            isFull = true
            return 0
          }
          return count
        }
      ) { ConnectionError($0) }
      if isFull { return false }
    }
    return true
  }

  var hasPendingOutput: Bool { session.pendingOutput > 0 }

  /// Whether everything of this end is sent, and only the other end's close_notify is missing.
  var awaitsEnd: Bool { ending == .sent }

  /// The result of one step of closing.
  enum ClosingStep {
    /// Both ends have sent close_notify.
    case done
    /// The next step needs the socket to become ready.
    case waits
    /// The other end has sent more than one step reads.
    case hasMore
  }

  /// Continues to close as far as that needs no wait, and reads a bounded amount of the other end's
  /// last bytes. A close with unread bytes resets the socket, and sent bytes may be lost.
  mutating func stepClosing() throws(ConnectionError) -> ClosingStep {
    if ending == .notBegun {
      try TLSError.mapped(session.close()) { ConnectionError($0) }
      ending = .said
    }
    if ending == .said {
      guard try flush() else { return .waits }
      try SystemError.mapped(socket.shutdownWrite()) { ConnectionError($0) }
      ending = .sent
    }
    var rest = [UInt8](repeating: 0, count: 16 << 10)
    for _ in 0..<Self.readsAtTheEnd {
      guard let count = try read(into: &rest, 0..<rest.count) else { return .waits }
      if count == 0 { return .done }
    }
    return .hasMore
  }

  /// The events that a poll waits for on the socket: bytes, if the caller reads now, and room for
  /// pending bytes.
  func interest(isReading: Bool) -> Poller.Interest {
    var wanted: Poller.Readiness = isReading ? .readable : []
    if hasPendingOutput { wanted.insert(.writable) }
    return Poller.Interest(socket.raw, wanted)
  }

  /// Reads ciphertext from the socket. Returns false when there is none.
  private mutating func receive() throws(ConnectionError) -> Bool {
    guard !isAtEnd, session.inputSpace > 0 else { return false }
    var isEmpty = false
    let room = try bound.room(session.inputSpace)
    let count: Int
    var last = lastBytes
    do throws(SystemError) {
      count = try session.receive(atMost: room) { (memory) throws(SystemError) in
        guard let count = try socket.receive(into: &memory) else {
          isEmpty = true
          return 0
        }
        for index in max(0, count - RelayFrame.cutSize)..<count { last.append(memory[index]) }
        return count
      }
    } catch {
      throw relayCut ?? ConnectionError(error)
    }
    lastBytes = Array(last.suffix(RelayFrame.cutSize))
    bound.took(count)
    if count == 0, !isEmpty {
      isAtEnd = true
      session.transportEnded()
    }
    return !isEmpty
  }

  /// The relay's reason for cutting the connection; nil if no relay has cut it.
  private var relayCut: ConnectionError? {
    RelayFrame.cut(atEndOf: lastBytes).map {
      ConnectionError(.relay($0), "the relay has ended the connection: \($0.clause)")
    }
  }

  // MARK: Waiting

  /// Waits until the socket is readable, or writable while output is pending, or the wakeup is
  /// signalled.
  ///
  /// With `isReading` false, bytes that have arrived do not end the wait. A passed deadline is
  /// reported even if the socket is ready, so that no other end can keep this one busy by sending
  /// without end.
  mutating func wait(until deadline: BootInstant?, isReading: Bool = true) throws(ConnectionError) -> Awakening {
    var interests = [interest(isReading: isReading), Poller.Interest(wakeup.raw, .readable)]
    let isReady = try SystemError.mapped(poller.wait(&interests, until: deadline)) { ConnectionError($0) }
    guard interests[1].ready.isEmpty else {
      wakeup.clear()
      return .wakeup
    }
    guard isReady, deadline.map({ .now() < $0 }) ?? true else { return .deadline }
    return .socket
  }

  /// Waits until a moment, and reads nothing. Fails when the connection is cut meanwhile.
  mutating func rest(until moment: BootInstant) throws(ConnectionError) {
    while true {
      switch try wait(until: moment, isReading: false) {
      case .deadline: return
      case .socket: throw ConnectionError(.lost, "the connection was cut")
      case .wakeup: if isStopped() { throw ConnectionError(.stopped, "a pause was stopped") }
      }
    }
  }

  /// Performs the TLS handshake. The gate bounds its costly steps.
  mutating func handshake(
    until deadline: BootInstant, within gate: ComputeGate? = nil
  ) throws(ConnectionError) {
    while try !goOnShakingHands(within: gate) { try waitToGoOn(until: deadline, "the TLS handshake") }
  }

  /// Continues the TLS handshake as far as that needs no wait. Returns whether it has finished.
  mutating func goOnShakingHands(within gate: ComputeGate? = nil) throws(ConnectionError) -> Bool {
    while true {
      let step: TLSSession.HandshakeStep
      do {
        step =
          if let gate {
            try gate.run { () throws(TLSError) in try session.handshake() }
          } else {
            try session.handshake()
          }
      } catch {
        // The alert tells the other end why.
        _ = try? flush()
        if let key = session.stranger { throw .stranger(key) }
        throw relayCut ?? ConnectionError(error)
      }
      try flush()
      if step == .finished { return true }
      guard try receive() else { return false }
    }
  }

  /// Reads exactly `count` bytes.
  mutating func readExactly(_ count: Int, until deadline: BootInstant) throws(ConnectionError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      switch try read(into: &bytes, filled..<count) {
      case 0?: throw ConnectionError(.closed, "the other device closed the connection")
      case let got?: filled += got
      case nil: try waitToGoOn(until: deadline, "waiting for the other device")
      }
    }
    return bytes
  }

  /// Sends all of the bytes.
  mutating func writeAll(_ bytes: [UInt8], until deadline: BootInstant) throws(ConnectionError) {
    var sent = 0
    while sent < bytes.count || hasPendingOutput {
      if sent < bytes.count { sent += try write(bytes, sent..<bytes.count) }
      guard try !flush() else { continue }
      try waitToGoOn(until: deadline, isReading: false, "sending to the other device")
    }
  }

  private mutating func waitToGoOn(
    until deadline: BootInstant, isReading: Bool = true, _ what: String
  ) throws(ConnectionError) {
    switch try wait(until: deadline, isReading: isReading) {
    case .socket: return
    case .wakeup: if isStopped() { throw ConnectionError(.stopped, "\(what) was stopped") }
    case .deadline: throw ConnectionError(.timedOut, "\(what) took too long")
    }
  }

  /// Sends close_notify, and gives the other end a moment to read the sent bytes, unless this end
  /// is stopped.
  mutating func close(within pause: Duration = .seconds(2)) { close(by: BootInstant.now().advanced(by: pause)) }

  mutating func close(by deadline: BootInstant) {
    do {
      while true {
        switch try stepClosing() {
        case .done: return
        case .waits: try waitToGoOn(until: deadline, isReading: ending == .sent, "closing")
        // TLS may hold bytes that a poll does not see.
        case .hasMore: if isStopped() || .now() >= deadline { return }
        }
      }
    } catch {
      // It is closed one way or another.
    }
  }
}
