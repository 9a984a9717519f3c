import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

extension TransferResult {
  /// Both ends report the same traffic.
  func expectAgreement(with other: TransferResult, sourceLocation: SourceLocation = #_sourceLocation) {
    expect(
      (sentBytes, savedBytes, heldBytes) == (other.sentBytes, other.savedBytes, other.heldBytes),
      sourceLocation: sourceLocation)
    expect(total, is: other.total, sourceLocation: sourceLocation)
  }

  /// Everything crossed the wire once: the content, and for each item and each chunk no more than
  /// its record and its place.
  func expectSentOnce(sourceLocation: SourceLocation = #_sourceLocation) {
    let plain = sentBytes + savedBytes
    let overhead = 400 * (total.items + total.bytes >> 20 + 1)
    expect((total.bytes..<total.bytes + overhead).contains(plain), sourceLocation: sourceLocation)
  }
}

/// The figures of both ends at the end: the sent and the existing items, and the time.
@Suite struct FigureTests {
  @Test func `a hole of a hundred gigabytes crosses no wire`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let size: UInt64 = 100_000_000_000
    let file = try source.directory.createFile("sparse")
    try file.write(at: Int64(size / 2), Array(patternData(4096)).span)
    try file.truncate(to: Int64(size))
    let receiver = try RunningReceiver(destination)
    let sent = try send([source.at("sparse")], to: try receiver.port(), code: try receiver.events.code())
    let got = try receiver.result()
    sent.expectAgreement(with: got)
    expect(sent.total, is: Tally(items: 1, bytes: size))
    expect((4096..<20_000).contains(sent.sentBytes + sent.savedBytes))
  }

  @Test func `the end repeats the bytes that were held when a lost connection came back`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("big", patternData(40 << 20))
    // A fresh item gets a generation that no later session finds again.
    Thread.sleep(forTimeInterval: 0.02)
    let receiver = try RunningReceiver(destination, giveUpAfter: 30)
    let wasCut = AtomicFlag()
    let proxy = try Proxy(to: try receiver.port()) { connection, bytes in
      guard connection == 1, bytes > 12 << 20, !wasCut.isSet else { return .pass }
      wasCut.set()
      return .cutAll
    }
    let sender = try RunningSender(
      [source.at("big")], to: proxy.port, giveUpAfter: 30, streams: 1, code: try receiver.events.code())
    let (sent, got) = (try sender.result(), try receiver.result())
    for (result, events) in [(sent, sender.events), (got, receiver.events)] {
      let told = events.all.compactMap { if case .resumed(let held) = $0 { held } else { nil } }
      expect(result.heldBytes == told.last && result.heldBytes > 4 << 20)
    }
    // The data under way when the connection broke was sent, and did not arrive.
    expect(got.sentBytes <= sent.sentBytes && got.sentBytes > 40 << 20)
    proxy.stop()
  }

  @Test func `the time is that of the data, and not of people who type and answer`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("file", patternData(1 << 20))
    let ready = Mutex<[String: BootInstant]>([:])
    /// A person, who is slow.
    let think = { @Sendable (what: String) in
      Thread.sleep(forTimeInterval: 0.7)
      ready.withLock { $0[what] = .now() }
    }
    let receiver = try RunningReceiver(
      destination,
      consent: { _, _ in
        think("answer")
        return .yes()
      })
    let code = try receiver.events.code()
    let sender = try Sender(
      Sender.Options(to: try receiver.port()), sources: [try FolderSource(paths: [source.at("file")])]
    ) { _ in
    } code: { (_, _) throws(Failure) in
      think("code")
      return TypedCode(code: code)
    }
    let sent = try sender.run()
    let got = try receiver.result()
    let answered = try #require(ready.withLock { $0["answer"] })
    expect(ready.withLock { $0.count }, is: 2)
    for result in [sent, got] {
      expect(result.seconds > 0 && result.seconds < BootInstant.now().seconds(since: answered))
    }
  }

  @Test func `items without content take time as well`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    try source.directory.makeDirectories("nothing")
    let receiver = try RunningReceiver(destination)
    let sent = try send([source.at("nothing")], to: try receiver.port(), code: try receiver.events.code())
    let got = try receiver.result()
    sent.expectAgreement(with: got)
    expect(sent.seconds > 0 && got.seconds > 0)
  }

  private static let trusted = Array("trusted.peer".utf8)
  private static func canSetTrusted() throws -> Bool {
    let scratch = try Scratch()
    scratch.write("file", [1])
    return (try? Descriptor.open(scratch.at("file")).setAttribute(trusted, [1])) != nil
  }

  @Test(.enabled("no attributes of the trusted namespace here", { try canSetTrusted() }))
  func `attributes that are not carried are told on both sides`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    source.write("file", [1])
    let name = Self.trusted
    try Descriptor.open(source.at("file")).setAttribute(name, [1])
    let receiver = try RunningReceiver(destination)
    let sent = try send([source.at("file")], to: try receiver.port(), code: try receiver.events.code())
    for result in [sent, try receiver.result()] {
      expect(result.lostAttributes, is: [LostAttribute(name: name, count: 1)])
    }
  }

  @Test func `the first beginning and the last end count`() {
    let count = TrafficCount()
    expect(count.amount.seconds, is: 0)
    count.begin()
    expect(count.amount.seconds, is: 0)
    count.end()
    let seconds = count.amount.seconds
    Thread.sleep(forTimeInterval: 0.01)
    count.begin()
    expect(count.amount.seconds, is: seconds)
    count.end()
    expect(count.amount.seconds >= seconds + 0.01)
    count.add(sent: 20, saved: 80)
    count.add(sent: 1)
    expect((count.amount.sent, count.amount.saved) == (21, 80))
  }
}
