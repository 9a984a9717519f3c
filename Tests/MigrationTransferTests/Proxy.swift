import MigrationSystem
import TestSupport
import Testing

@testable import MigrationTransfer

/// A TCP proxy on loopback that passes bytes, cuts connections, or changes a byte from the client.
///
/// A judge that blocks holds up every connection.
final class Proxy: Sendable {
  enum Verdict {
    case pass, cut, spoil
    /// Takes the bytes and passes nothing on any more, in this connection and without a word.
    case swallow
    /// Cuts every connection; new ones are taken.
    case cutAll
    /// Cuts every connection, and lets none through again.
    case close
  }

  let port: UInt16
  private let mustStop = AtomicFlag()
  private let segments = Condition<[Int]>([])
  private let thread: RunningThread<Void>

  var connections: Int { segments.withLock { $0.count } }

  /// The size of the segments in which each connection's client takes data.
  var segmentBytes: [Int] { segments.withLock { $0 } }

  /// Connections that are refused never come to the target. Those that end without a word, as a
  /// look whether anything listens does, do not count.
  init(
    to target: UInt16, refusing refused: ClosedRange<Int>? = nil,
    _ judge: @escaping @Sendable (_ connection: Int, _ bytes: Int) -> Verdict
  ) throws {
    let listening = try ListeningSocket(host: "127.0.0.1", port: 0)
    port = listening.port
    let handedOver = Condition<ListeningSocket?>(listening)
    let (mustStop, segments) = (mustStop, segments)
    thread = try RunningThread("proxy") {
      guard let listening = handedOver.withLock({ $0.take() }) else { return }
      try? Self.run(listening, target, refused, judge, mustStop) { bytes in segments.withLock { $0.append(bytes) } }
    }
  }

  deinit { stop() }

  /// Ends every connection. A proxy that a test does not stop ends with this.
  func stop() {
    mustStop.set()
    if !thread.hasEnded() { Issue.record(TookTooLong("the end of a proxy")) }
  }

  private static func run(
    _ listening: borrowing ListeningSocket, _ target: UInt16, _ refused: ClosedRange<Int>?,
    _ judge: (Int, Int) -> Verdict, _ mustStop: AtomicFlag, accepted: (Int) -> Void
  ) throws {
    var workers: [PairWorker] = []
    var poller = try Poller()
    var number = 0
    var cut = Cut()
    while !mustStop.isSet, !cut.isForGood {
      guard
        !(try poller.wait(for: .readable, on: listening.raw, until: BootInstant.now().advanced(by: .milliseconds(20))))
          .isEmpty,
        let client = try listening.accept()
      else {
        try turn(&workers, judge, &cut)
        continue
      }
      guard try client.speaks() else { continue }
      accepted(try client.segmentBytes())
      if let refused, refused.contains(number) {
        number += 1
        continue
      }
      let server = try StreamSocket.connect(to: SocketAddress.loopback(port: target))
      workers.append(PairWorker(number: number, client, server, mustStop))
      number += 1
      try turn(&workers, judge, &cut)
    }
  }

  private static func turn(_ workers: inout [PairWorker], _ judge: (Int, Int) -> Verdict, _ cut: inout Cut) throws {
    for worker in workers where !cut.isNow { try worker.turn(judge, &cut) }
    if cut.isNow { workers = [] }
    cut.isNow = false
  }

  /// Whether everything is to be cut.
  private struct Cut {
    var isNow = false
    var isForGood = false
  }

  /// Pumps both directions of one connection, a turn at a time.
  private final class PairWorker {
    private let number: Int
    private let clientNumber: CInt
    private let serverNumber: CInt
    private var client: StreamSocket?
    private var server: StreamSocket?
    private let mustStop: AtomicFlag
    private var passed = 0
    private var isSpoilt = false
    private var isSwallowing = false
    private var isConnected = false
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)

    init(number: Int, _ client: consuming StreamSocket, _ server: consuming StreamSocket, _ mustStop: AtomicFlag) {
      self.mustStop = mustStop
      self.number = number
      clientNumber = client.raw
      serverNumber = server.raw
      self.client = consume client
      self.server = consume server
    }

    func turn(_ judge: (Int, Int) -> Verdict, _ cut: inout Cut) throws {
      // Others have their turn, too.
      let deadline = BootInstant.now() + .seconds(2)
      var isBusy = true
      while isBusy, BootInstant.now() < deadline {
        isBusy = false
        guard let toServer = try? pump(fromClient: true, judge, &cut),
          let toClient = try? pump(fromClient: false, judge, &cut)
        else { return end() }
        if toServer < 0 || toClient < 0 { return end() }
        isBusy = toServer > 0 || toClient > 0
      }
    }

    private func end() {
      client = nil
      server = nil
    }

    /// The number of bytes; negative when the connection has ended.
    private func pump(fromClient: Bool, _ judge: (Int, Int) -> Verdict, _ cut: inout Cut) throws -> Int {
      guard client != nil, server != nil else { return 0 }
      if !isConnected {
        guard try server!.finishConnecting() else { return 0 }
        isConnected = true
      }
      var memory = buffer.mutableSpan
      let count = fromClient ? try client!.receive(into: &memory) : try server!.receive(into: &memory)
      guard let count else { return 0 }
      guard count > 0 else { return -1 }
      if fromClient {
        passed += count
        switch judge(number, passed) {
        case .pass: break
        case .cut: return -1
        case .cutAll:
          cut.isNow = true
          return -1
        case .close:
          cut.isForGood = true
          return -1
        case .swallow: isSwallowing = true
        case .spoil:
          if !isSpoilt { buffer[count / 2] ^= 0x20 }
          isSpoilt = true
        }
      }
      if isSwallowing { return count }
      var sent = 0
      let deadline = soon()
      while sent < count, !mustStop.isSet, BootInstant.now() < deadline {
        let rest = Array(buffer[sent..<count])
        let more = fromClient ? try server!.send(rest.span) : try client!.send(rest.span)
        if let more {
          sent += more
        } else {
          var poller = try Poller()
          let target = fromClient ? serverNumber : clientNumber
          _ = try poller.wait(for: .writable, on: target, until: BootInstant.now().advanced(by: .milliseconds(100)))
        }
      }
      return sent == count ? count : -1
    }
  }
}
