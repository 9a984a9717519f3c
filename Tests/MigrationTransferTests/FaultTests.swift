import Foundation
import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire
import Testing

@testable import MigrationTransfer

@Suite struct FaultTests {
  @Test func `a data stream that is cut in the middle is replaced, and everything arrives`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let big = pattern(40 << 20)
    try source.make("tree/big", big)
    for number in 0..<100 { try source.make("tree/\(number)", pattern(5000, seed: UInt64(number))) }
    let receiver = try RunningReceiver(destination)
    // The control connection is the first, so the cuts fall on data streams.
    let proxy = try Proxy(to: try receiver.port()) { connection, bytes in
      connection >= 1 && connection <= 3 && bytes > 6 << 20 ? .cut : .pass
    }
    _ = try send([source.path("tree")], to: proxy.port, code: try receiver.events.code())
    _ = try receiver.result()
    #expect(proxy.connections >= 5)
    #expect(destination.content("tree/big") == big)
    for number in 0..<100 { #expect(destination.content("tree/\(number)") == pattern(5000, seed: UInt64(number))) }
    proxy.stop()
  }

  @Test func `a control connection that is cut ends both sides, and nothing half arrives`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    try source.make("big", pattern(40 << 20))
    let receiver = try RunningReceiver(destination)
    let proxy = try Proxy(to: try receiver.port()) { connection, bytes in
      connection == 1 && bytes > 4 << 20 ? .cutAll : .pass
    }
    let failure = #expect(throws: TransferFailure.self) {
      try send([source.path("big")], to: proxy.port, code: try receiver.events.code())
    }
    #expect(failure?.kind == .connectionLost)
    #expect(receiver.failure()?.kind == .connectionLost)
    #expect(!destination.names.contains("big"))
    proxy.stop()
  }

  @Test func `a byte that is changed on its way never arrives`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let big = pattern(20 << 20)
    try source.make("big", big)
    let receiver = try RunningReceiver(destination)
    let proxy = try Proxy(to: try receiver.port()) { connection, bytes in
      connection == 1 && bytes > 3 << 20 ? .spoil : .pass
    }
    _ = try send([source.path("big")], to: proxy.port, code: try receiver.events.code())
    _ = try receiver.result()
    #expect(destination.content("big") == big)
    #expect(proxy.connections >= 3)
    proxy.stop()
  }
}

/// A TCP proxy on loopback that passes bytes, cuts connections, or changes a byte from the client.
private final class Proxy: Sendable {
  enum Verdict { case pass, cut, cutAll, spoil }

  let port: UInt16
  private let mustStop = Flag()
  private let count = Condition(0)
  private let done = Promise<Bool>()

  var connections: Int { count.withLock { $0 } }

  init(to target: UInt16, _ judge: @escaping @Sendable (_ connection: Int, _ bytes: Int) -> Verdict) throws {
    let listening = try ListeningSocket(host: "127.0.0.1", port: 0)
    port = listening.port
    let parcel = Condition<ListeningSocket?>(listening)
    let (mustStop, count, done) = (mustStop, count, done)
    _ = try OwnerThread(name: "proxy") {
      defer { done.fulfil(.success(true)) }
      guard let listening = parcel.withLock({ $0.take() }) else { return }
      try? Self.run(listening, target, judge, mustStop) { count.withLock { $0 += 1 } }
    }
  }

  func stop() {
    mustStop.set()
    _ = try? done.wait()
  }

  private static func run(
    _ listening: borrowing ListeningSocket, _ target: UInt16, _ judge: (Int, Int) -> Verdict, _ mustStop: Flag,
    accepted: () -> Void
  ) throws {
    var workers: [PairWorker] = []
    var poller = try Poller()
    var number = 0
    let cutAll = Flag()
    while !mustStop.isSet, !cutAll.isSet {
      guard
        !(try poller.wait(for: .readable, on: listening.raw, until: BootInstant.now().advanced(by: .milliseconds(20))))
          .isEmpty,
        let client = try listening.accept()
      else {
        for worker in workers { try worker.turn(judge, cutAll) }
        continue
      }
      accepted()
      let server = try StreamSocket.connect(to: SocketAddress.loopback(port: target))
      workers.append(PairWorker(number: number, client, server))
      number += 1
      for worker in workers { try worker.turn(judge, cutAll) }
    }
  }

  /// Pumps both directions of one connection, a turn at a time.
  private final class PairWorker {
    private let number: Int
    private let clientNumber: CInt
    private let serverNumber: CInt
    private var client: StreamSocket?
    private var server: StreamSocket?
    private var passed = 0
    private var isSpoilt = false
    private var isConnected = false
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)

    init(number: Int, _ client: consuming StreamSocket, _ server: consuming StreamSocket) {
      self.number = number
      clientNumber = client.raw
      serverNumber = server.raw
      self.client = consume client
      self.server = consume server
    }

    func turn(_ judge: (Int, Int) -> Verdict, _ cutAll: Flag) throws {
      let deadline = soon(2)
      var isBusy = true
      while isBusy, BootInstant.now() < deadline {
        isBusy = false
        guard let toServer = try? pump(fromClient: true, judge, cutAll),
          let toClient = try? pump(fromClient: false, judge, cutAll)
        else { return end() }
        if toServer < 0 || toClient < 0 { return end() }
        isBusy = toServer > 0 || toClient > 0
      }
    }

    private func end() {
      client = nil
      server = nil
    }

    /// How many bytes went; negative when the connection is over.
    private func pump(fromClient: Bool, _ judge: (Int, Int) -> Verdict, _ cutAll: Flag) throws -> Int {
      guard client != nil, server != nil else { return 0 }
      if !isConnected {
        guard try server!.finishConnecting() else { return 0 }
        isConnected = true
      }
      let count = try buffer.withUnsafeMutableBytes { bytes in
        fromClient ? try client!.receive(into: bytes) : try server!.receive(into: bytes)
      }
      guard let count else { return 0 }
      guard count > 0 else { return -1 }
      if fromClient {
        passed += count
        switch judge(number, passed) {
        case .pass: break
        case .cut: return -1
        case .cutAll:
          cutAll.set()
          return -1
        case .spoil:
          if !isSpoilt { buffer[count / 2] ^= 0x20 }
          isSpoilt = true
        }
      }
      var sent = 0
      let deadline = soon(5)
      while sent < count, BootInstant.now() < deadline {
        let more = try buffer.withUnsafeBytes { bytes in
          let rest = UnsafeRawBufferPointer(rebasing: bytes[sent..<count])
          return fromClient ? try server!.send(rest) : try client!.send(rest)
        }
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
