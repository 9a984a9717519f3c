import Expectations
import Foundation
import MigrationWire
import PeerTransfer
import TestSupport
import Testing

/// The library as a program uses it: only the public interface.
@Suite(.timeLimit(.minutes(3))) struct PeerTransferTests {
  private let source: Scratch
  private let destination: Scratch

  init() throws { (source, destination) = (try Scratch(), try Scratch()) }

  /// A folder whose transfer takes a while.
  private func makeTree(size: Int = 4 << 20) -> (path: String, content: [UInt8]) {
    let content = pattern(size, seed: 7)
    source.write("tree/large", content)
    for number in 0..<20 { source.write("tree/small/\(number)", pattern(number, seed: 1)) }
    return (source.path("tree"), content)
  }

  /// The received files.
  private func content(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: destination.path(name)).map { [UInt8]($0) }
  }

  @Test func `both ends in one process pair with the receiver's code`() async throws {
    let tree = makeTree()
    let receiver = WaitingReceiver(into: destination.path("in"))
    let sender = RunningSender(tree.path, to: try await receiver.target(), code: try await receiver.code())
    let (sent, received) = (try await sender.task.value.get(), try await receiver.task.value.get())
    expect(sent.items == 23 && received.items == 23)
    expect(sent.bytes == received.bytes && sent.isComplete && received.isComplete)
    expect(content("in/tree/large"), is: tree.content)
    expect(await sender.log.all().last, is: .done(sent))
    expect(await receiver.log.all().last, is: .done(received))
  }

  @Test func `a code that a program creates for both ends works, and is not reported`() async throws {
    let tree = makeTree(size: 10)
    let code = PeerCode.random()
    let receiver = WaitingReceiver(into: destination.path("in")) { $0.code = code }
    let sender = RunningSender(tree.path, to: try await receiver.target(), code: code)
    expect(try await sender.task.value.get().isComplete)
    expect(try await receiver.task.value.get().isComplete)
    for event in await receiver.log.all() { if case .code = event { Issue.record("the code was told") } }
  }

  @Test func `a source that contains the sender's memory is sent without its records, twice`() async throws {
    let tree = makeTree(size: 10)
    source.write("tree/memory/letter", [1])
    for _ in 1...2 {
      let receiver = WaitingReceiver(into: destination.path("in")) { $0.existing = .update }
      let sender = RunningSender(tree.path, to: try await receiver.target(), code: try await receiver.code()) {
        $0.memory = PeerPath(tree.path + "/memory")
      }
      expect(try await sender.task.value.get().isComplete)
      expect(try await receiver.task.value.get().isComplete)
      let arrived = try FileManager.default.contentsOfDirectory(atPath: destination.path("in/tree/memory"))
      expect(arrived, is: ["letter"])
    }
  }

  @Test func `a transfer above the maximum is refused, and a transfer of the maximum is accepted`() async throws {
    let tree = makeTree()
    for (most, isTaken) in [(UInt64(100), false), (1 << 40, true)] {
      let receiver = WaitingReceiver(into: destination.path("in")) { $0.maximumBytes = most }
      let sender = RunningSender(tree.path, to: try await receiver.target(), code: try await receiver.code())
      expect(await sender.task.value.failure?.kind, is: (isTaken ? nil : .noSpace))
      expect(await receiver.task.value.failure?.kind, is: (isTaken ? nil : .noSpace))
    }
  }

  @Test func `destination and port are free as soon as the end is reported`()
    async throws
  {
    var options = PeerReceiver.Options()
    options.isAnnounced = false
    options.host = "127.0.0.1"
    options.port = 0
    for round in 0..<60 {
      let receiver = PeerReceiver(into: PeerPath(destination.path("in")), options: options)
      let task = Task { await outcome { () async throws(PeerError) in try await receiver.receive() } }
      let log = EventLog(receiver.events)
      for _ in 0..<round { await Task.yield() }
      if round % 3 == 0 {
        let port = await log.first { if case .listening(_, let port) = $0 { port } else { nil } }
        options.port = port
      }
      task.cancel()
      expect(await task.value.failure?.kind, is: .interrupted)
    }
  }

  @Test func `cancelling the sender's task ends it, and the receiver reports an interruption by the user`() async throws
  {
    let tree = makeTree()
    let receiver = WaitingReceiver(into: destination.path("in")) { $0.givesUpAfter = .zero }
    let sender = RunningSender(tree.path, to: try await receiver.target(), code: try await receiver.code()) {
      $0.bytesPerSecond = 100_000
    }
    await sender.log.waitForData()
    sender.task.cancel()
    expect(await sender.task.value.failure?.kind, is: .interrupted)
    let failure = await receiver.task.value.failure
    expect(failure?.kind, is: .connectionLost)
    expect(failure?.message.contains("interrupted"), is: true)
  }

  @Test func `cancelling the receiver's task ends both`() async throws {
    let tree = makeTree()
    let receiver = WaitingReceiver(into: destination.path("in"))
    let sender = RunningSender(tree.path, to: try await receiver.target(), code: try await receiver.code()) {
      $0.bytesPerSecond = 100_000
    }
    await sender.log.waitForData()
    receiver.task.cancel()
    expect(await receiver.task.value.failure?.kind, is: .interrupted)
    expect(await sender.task.value.failure?.kind, is: .connectionLost)
  }

  @Test func `a task that is cancelled before its start does nothing`() async throws {
    let tree = makeTree().path
    // The device refuses every connection, at once: that must not come first.
    for _ in 0..<20 {
      let sender = PeerSender([PeerPath(tree)], to: .host("127.0.0.1", port: 9))
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        return await outcome { () async throws(PeerError) in try await sender.send { _ in nil } }
      }
      task.cancel()
      expect(await task.value.failure?.kind, is: .interrupted)
    }
  }

  @Test func `an interrupted transfer resumes in another run, without a code`() async throws {
    let tree = makeTree()
    let memories = [source.path("memory"), destination.path("memory")]
    let first = WaitingReceiver(into: destination.path("in")) {
      $0.memory = PeerPath(memories[1])
      $0.givesUpAfter = .zero
    }
    let interrupted = RunningSender(tree.path, to: try await first.target(), code: try await first.code()) {
      $0.memory = PeerPath(memories[0])
      $0.bytesPerSecond = 1_000_000
    }
    await interrupted.log.waitForData(atLeast: 1 << 20)
    interrupted.task.cancel()
    expect(await interrupted.task.value.failure?.kind, is: .interrupted)
    expect(await first.task.value.failure?.kind, is: .connectionLost)

    let second = WaitingReceiver(into: destination.path("in")) { $0.memory = PeerPath(memories[1]) }
    let again = RunningSender(tree.path, to: try await second.target(), code: nil) {
      $0.memory = PeerPath(memories[0])
    }
    let result = try await again.task.value.get()
    expect(result.heldBytes > 0 && result.isComplete)
    expect(try await second.task.value.get().isComplete)
    expect(content("in/tree/large"), is: tree.content)
  }

  @Test func `a receiver that stays open accepts one transfer after another, until its task is cancelled`() async throws
  {
    source.write("one", [1])
    source.write("two", [2])
    let receiver = WaitingReceiver(into: destination.path("in")) { $0.staysOpen = true }
    let target = try await receiver.target()
    let one = RunningSender(source.path("one"), to: target, code: try await receiver.code())
    expect(try await one.task.value.get().isComplete)
    let old = try await receiver.code()
    let next = await receiver.log.first { if case .code(let code, _) = $0, code != old { code } else { nil } }
    let two = RunningSender(source.path("two"), to: target, code: next)
    expect(try await two.task.value.get().isComplete)
    receiver.task.cancel()
    expect(await receiver.task.value.failure?.kind, is: .interrupted)
    expect(destination.names("in"), is: ["one", "two"])
    let events = await receiver.log.all()
    expect(events.count { if case .done = $0 { true } else { false } }, is: 2)
    expect(events.last, is: .failed(try #require(await receiver.task.value.failure)))
  }

  @Test func `a question is cancelled when its answer is no longer wanted`() async throws {
    let receiver = WaitingReceiver(into: destination.path("in"))
    let target = try await receiver.target()
    let asked = EventSwitch()
    let answering = EventSwitch()
    let sender = PeerSender([PeerPath(makeTree(size: 10).path)], to: target)
    let task = Task {
      await outcome { () async throws(PeerError) in
        try await sender.send { _ in
          asked.set()
          await withTaskCancellationHandler {
            await answering.wait()
          } onCancel: {
            answering.set()
          }
          return nil
        }
      }
    }
    await asked.wait()
    task.cancel()
    expect(await task.value.failure?.kind, is: .interrupted)
    await answering.wait()
    receiver.task.cancel()
    _ = await receiver.task.value
  }
}

extension EventLog {
  /// Waits until data has moved.
  func waitForData(atLeast bytes: UInt64 = 1) async {
    _ = await first { (event) -> Void? in
      if case .progress(let progress) = event, progress.bytes >= bytes { () } else { nil }
    }
  }
}
