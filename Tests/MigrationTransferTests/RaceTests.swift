import Expectations
import Glibc
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct RaceTests {
  private func run(_ addresses: [SocketAddress], _ wakeup: Wakeup? = nil, isStopped: Bool = false) throws
    -> SocketAddress
  {
    try Race(addresses: addresses, patience: 60, wakeup: wakeup ?? Wakeup()) { isStopped }.run().remoteAddress
  }

  @Test func `the first address that answers wins, wherever it stands`() throws {
    let closed = try HeldPort()
    let open = try ListeningSocket(on: .loopback(port: 0))
    let (dead, live) = (SocketAddress.loopback(port: closed.number), open.address)
    expect(try run([live]), is: live)
    expect(try run([dead, dead, live]), is: live)
    expect(try run([live, dead]), is: live)
  }

  @Test func `a port at which nothing listens is refused, and its address is named`() throws {
    let closed = try HeldPort()
    let failure = #expect(throws: Race.End.self) { try run([.loopback(port: closed.number)]) }
    guard case .lost(let address, .refused, let error) = failure else {
      Issue.record("it ended by \(String(describing: failure))")
      return
    }
    expect(address, is: .loopback(port: closed.number))
    expect(error.description, is: "cannot connect to 127.0.0.1:\(closed.number): Connection refused")
  }

  @Test func `two ends that dial each other at the same time from their ports are connected`() throws {
    // The kernel may have given a port to another program's connection too, which does not share it.
    var isShared = false
    for _ in 1...20 where !isShared { isShared = try dialEachOther() }
    expect(isShared)
  }

  @Test func `strangers that connect without an end do not prolong a race`() throws {
    let closed = try HeldPort()
    let listener = try ListeningSocket(on: .loopback(port: 0))
    let (address, deadline) = (listener.address, soon())
    var running = try Race.Running(
      Race(addresses: [.loopback(port: closed.number)], isRound: true, patience: 0.2, wakeup: Wakeup()) { false },
      with: listener)
    #expect(throws: Race.End.self) {
      while BootInstant.now() < deadline {
        let stranger = try StreamSocket.toThisMachine(address.port, from: "127.0.0.2")
        _ = try running.next()
        _ = consume stranger
      }
    }
  }

  @Test func `a round shakes hands with a bounded number of those that connect to it`() throws {
    final class Stranger {
      let socket: StreamSocket
      init(_ socket: consuming StreamSocket) { self.socket = socket }
      /// Whether the round has greeted it.
      var isGreeted: Bool {
        var byte: UInt8 = 0
        return unsafe recv(socket.raw, &byte, 1, CInt(MSG_DONTWAIT) | CInt(MSG_PEEK)) > 0
      }
    }
    let relay = try ListeningSocket(on: .loopback(port: 0))
    let toRelay = try StreamSocket.connect(to: relay.address, from: .shareable)
    let (port, silent) = (try toRelay.localAddress().port, try SilentPort())
    let address = silent.address
    let (isEnough, wakeup, identity) = (AtomicFlag(), try Wakeup(), try Identity.generate())
    let round = try RunningThread("round") {
      let round = DirectDial(
        context: try TLSContext(role: .client, identity: identity), receiver: identity.fingerprint,
        hasSmallSegments: false, port: port, length: 120
      ) { isEnough.isSet }
      #expect(throws: ConnectionError.self) {
        _ = try round.run([MigrationWire.InternetAddress(address)], wakeup).remoteAddress
      }
    }
    // Only a round that greets too few meets the bound of a minute.
    let (most, start) = (DirectDial.mostGreetings, BootInstant.now())
    var strangers: [Stranger] = []
    func greeted() -> Int { strangers.count(where: \.isGreeted) }
    while strangers.count < 2 * most || greeted() < most, BootInstant.now().seconds(since: start) < 60 {
      guard strangers.count < 2 * most, let socket = try? StreamSocket.toThisMachine(port, from: "127.0.0.2") else {
        // The round listens soon, or greets one after the other.
        usleep(10_000)
        continue
      }
      strangers.append(Stranger(socket))
    }
    // Time in which a round without a bound would greet the others.
    usleep(200_000)
    let count = greeted()
    isEnough.set()
    wakeup.signal()
    try round.value()
    expect(count, is: most)
    expect(strangers.count, is: 2 * most)
  }

  /// Returns false if a port is not shared.
  private func dialEachOther() throws -> Bool {
    // Each has a connection to a relay, whose port it shares.
    let relay = try ListeningSocket(on: .loopback(port: 0))
    let here = try StreamSocket.connect(to: relay.address, from: .shareable)
    let there = try StreamSocket.connect(to: relay.address, from: .shareable)
    let (own, other) = (try here.localAddress(), try there.localAddress())
    guard let socket = try? StreamSocket.connect(to: other, from: .shared(own.port)) else { return false }
    // Nothing listens there: the kernel has answered this one already.
    #expect(throws: SystemError.self) { while try !socket.finishConnecting() {} }
    let listener = try ListeningSocket(host: nil, port: own.port, sharesPort: true)
    var running = try Race.Running(
      Race(addresses: [other], isRound: true, port: .shared(own.port), patience: 60, wakeup: Wakeup()) { false },
      with: listener)
    // The other end reaches the listening socket, although the address has failed here.
    do {
      let reached = try Race(addresses: [own], port: .shared(other.port), patience: 60, wakeup: Wakeup()) { false }
        .run()
      expect(try running.next().remoteAddress == other && reached.remoteAddress == own)
      return true
    } catch Race.End.lost(_, _, let error) where error.errno == EADDRINUSE { return false }
  }

  @Test func `an address that is silent holds up no other`() throws {
    let silent = try SilentPort()
    let open = try ListeningSocket(on: .loopback(port: 0))
    expect(try run([silent.address, open.address]), is: open.address)
  }

  @Test func `an address that does not answer in its time is silent`() throws {
    let silent = try SilentPort()
    let failure = #expect(throws: Race.End.self) {
      try Race(addresses: [silent.address], patience: 0.1, wakeup: try Wakeup()) { false }.run().remoteAddress
    }
    guard case .lost(silent.address, .silent, let error) = failure else {
      Issue.record("it ended by \(String(describing: failure))")
      return
    }
    expect(error.description, is: "cannot connect to \(silent.address): it does not answer")
  }

  @Test func `a race is left when this end is stopped, and only then`() throws {
    let (silent, wakeup) = (try SilentPort(), try Wakeup())
    wakeup.signal()
    let failure = #expect(throws: Race.End.self) { try run([silent.address], wakeup, isStopped: true) }
    guard case .stopped = failure else {
      Issue.record("it ended by \(String(describing: failure))")
      return
    }
    let open = try ListeningSocket(on: .loopback(port: 0))
    wakeup.signal()
    expect(try run([silent.address, open.address], wakeup), is: open.address)
  }

  @Test func `a look is ended by its stop`() throws {
    let (silent, stop) = (try SilentPort(), StopSignal())
    stop.set()
    let target = HostAndPort(host: "127.0.0.1", port: silent.address.port)
    let report = Probe(route: .resolved(target, first: nil), label: nil, stop: stop).run()
    guard case .probed(.failure(let failure)) = report.event else {
      Issue.record("it ended in \(report)")
      return
    }
    expect(failure.code, is: Failure.interrupted(by: .interrupted).code)
  }

  @Test func `words of the kernel are told apart`() throws {
    let refused = SystemError(errno: 111, operation: "connect")
    expect(AddressRace.Obstacle(refused), is: .refused)
    for number: CInt in [100, 101, 112, 113] {
      expect(AddressRace.Obstacle(SystemError(errno: number, operation: "connect")), is: .noRoute)
    }
    for number: CInt in [1, 13] {
      expect(AddressRace.Obstacle(SystemError(errno: number, operation: "connect")), is: .forbidden)
    }
    expect(AddressRace.Obstacle(SystemError(errno: 110, operation: "connect")), is: .silent)
    expect(AddressRace.Obstacle(SystemError(reason: "no", operation: "connect")), is: .other("no"))
  }

  @Test func `a process that may open no more files says so, whatever it wanted to open`() {
    for number: CInt in [23, 24] {
      let error = SystemError(errno: number, operation: "open", subject: "it")
      let faults = [
        Failure(error), Failure(store: "the records cannot be used", error),
        Failure(.unfit, "the destination cannot be opened", cause: error),
        Failure(.exportFailed, "a file cannot be read", cause: error),
      ]
      for fault in faults {
        expect(fault.kind == .failed && fault.hint?.contains("ulimit -n") == true)
      }
    }
  }

  @Test func `where a device that was reached does not shake hands, its other addresses are tried`() throws {
    let receiver = try StrangeReceiver()
    let deaf = try ListeningSocket(on: .loopback(port: 0))
    let deafPort = deaf.port
    let handedOver = Condition<ListeningSocket?>(deaf)
    let cutter = try RunningThread("cutter") {
      guard let deaf = handedOver.withLock({ $0.take() }) else { return }
      _ = try deaf.acceptNext()
    }
    let server = try RunningThread("server") { _ = try receiver.accept() }
    let dialing = Dialing(context: try TLSContext(role: .client, identity: try Identity.generate()), pinned: nil) {
      false
    }
    let isReached = AtomicFlag()
    let address: SocketAddress
    do {
      let connection = try dialing.connect(
        to: [.loopback(port: deafPort), .loopback(port: receiver.port)], wakeup: try Wakeup(), isReached: isReached)
      address = connection.remoteAddress
    }
    expect(address.port, is: receiver.port)
    expect(isReached.isSet)
    try cutter.value()
    try server.value()
  }
}
