import Expectations
import MigrationEngine
import MigrationSystem
import MigrationWire
import PeerTransfer
import TestSupport
import Testing

/// Errors are reported before any work.
@Suite(.timeLimit(.minutes(1))) struct PeerErrorTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func failure(_ sender: PeerSender) async -> PeerError? {
    await outcome { () async throws(PeerError) in try await sender.send { _ in nil } }.failure
  }

  private func failure(_ change: (inout PeerReceiver.Options) -> Void) async -> PeerError? {
    var options = PeerReceiver.Options()
    options.isAnnounced = false
    options.host = "127.0.0.1"
    options.port = 0
    change(&options)
    let receiver = PeerReceiver(into: PeerPath(scratch.path("in")), options: options)
    return await outcome { () async throws(PeerError) in try await receiver.receive() }.failure
  }

  @Test(
    arguments: [
      ([], "no path to send"), ([""], "has no name"), (["/"], "has no name"),
      (["/nowhere/at/all"], "'/nowhere/at/all' cannot be read"), (["a\0b"], "has no name"),
    ] as [([String], String)])
  func `a source that cannot be sent is named`(paths: [String], clause: String) async throws {
    let failure = await failure(PeerSender(paths.map { PeerPath($0) }, to: .host("127.0.0.1", port: 9)))
    expect(failure?.kind, is: .usage)
    expect(failure?.message.contains(clause), is: true, "\(failure?.message ?? "none")")
  }

  @Test func `options that make no sense are refused`() async throws {
    scratch.write("file", [1])
    var streams = PeerSender.Options()
    streams.streams = 65
    var slow = PeerSender.Options()
    slow.bytesPerSecond = 0
    for options in [streams, slow] {
      let sender = PeerSender([PeerPath(scratch.path("file"))], to: .host("127.0.0.1", port: 9), options: options)
      expect(await failure(sender)?.kind, is: .usage)
    }
    expect(await failure { $0.from = ["new-laptop"] }?.kind, is: .usage)
    expect(
      await failure {
        $0.staysOpen = true
        $0.code = .random()
      }?.kind, is: .usage)
  }

  @Test(arguments: ["", " ", "127.0.0.1\0x", "127.0.0.1:80", "a/b"])
  func `an invalid host is refused before any work`(host: String) async throws {
    scratch.write("file", [1])
    let sender = await failure(PeerSender([PeerPath(scratch.path("file"))], to: .host(host)))
    expect(sender?.kind == .usage && sender?.message.hasSuffix("is not the name or address of a device") == true)
    expect(await failure { $0.host = host }?.kind, is: .usage)
  }

  @Test func `a device that no search has found cannot be a target`() async throws {
    scratch.write("file", [1])
    let receiver = WaitingReceiver(into: scratch.path("in"))
    let sender = RunningSender(scratch.path("file"), to: try await receiver.target(), code: try await receiver.code())
    let paired = await sender.log.first { if case .paired(let device) = $0 { device } else { nil } }
    _ = try await sender.task.value.get()
    let other = await failure(PeerSender([PeerPath(scratch.path("file"))], to: .device(try #require(paired))))
    expect(other?.message, is: "the port of new (127.0.0.1) is unknown")
  }

  @Test func `a destination that cannot be created or is in use fails at once`() async throws {
    let receiver = PeerReceiver(into: "/proc/nothing")
    let failure = await outcome { () async throws(PeerError) in try await receiver.receive() }.failure
    expect(failure?.kind, is: .refused)
    func remembering(_ options: inout PeerReceiver.Options) { options.memory = PeerPath(scratch.path("memory")) }
    let first = WaitingReceiver(into: scratch.path("in"), remembering)
    _ = try await first.code()
    expect(await WaitingReceiver(into: scratch.path("in"), remembering).task.value.failure?.kind, is: .refused)
    first.task.cancel()
    _ = await first.task.value
  }

  @Test(arguments: ["", "/proc/nothing", "a\0b"])
  func `a memory that cannot be created fails at once`(path: String) async {
    expect(await failure { $0.memory = PeerPath(path) }?.kind, is: .refused)
  }

  @Test func `a memory that other users may change is refused`() async throws {
    try scratch.directory.makeDirectory("memory", mode: 0o777)
    try scratch.directory.setMode("memory", 0o777)
    let failure = await failure { $0.memory = PeerPath(scratch.path("memory")) }
    expect(failure?.kind, is: .refused)
    expect(failure?.hint?.contains("chmod 700"), is: true)
  }

  @Test func `a transfer runs once`() async throws {
    let sender = PeerSender([])
    expect(await failure(sender)?.message, is: "no path to send")
    expect(await failure(sender)?.message, is: "this transfer has already run")
  }

  @Test func `both ends report a wrong code and a missing code`() async throws {
    scratch.write("file", [1])
    let receiver = WaitingReceiver(into: scratch.path("in"))
    let (target, right) = (try await receiver.target(), try await receiver.code())
    var wrong = PeerCode.random()
    while wrong == right { wrong = .random() }
    let sender = RunningSender(scratch.path("file"), to: target, code: wrong)
    expect(await sender.task.value.failure?.kind, is: .pairing)
    let from = await receiver.log.first { if case .wrongCode(1, 3, let from) = $0 { from } else { nil } }
    expect(from, is: "127.0.0.1")
    expect(await RunningSender(scratch.path("file"), to: target, code: nil).task.value.failure?.kind, is: .pairing)
    receiver.task.cancel()
    _ = await receiver.task.value
  }

  @Test func `a path keeps its text, and shows it safely`() {
    let path: PeerPath = "a\u{1B}b"
    expect(path.text == "a\u{1B}b" && "\(path)" == #"a\u{1b}b"#)
    expect(PeerPath(bytes: [0xFF]).text == nil)
  }

  @Test(arguments: [("12", "eight digits"), ("12345678", "one digit is wrong"), ("4829-136x", "eight digits")])
  func `an invalid code is refused`(text: String, clause: String) {
    do throws(PeerError) {
      _ = try PeerCode(text)
      Issue.record("it was taken")
    } catch {
      expect(error.kind == .pairing && error.message.contains(clause))
    }
  }

  @Test(arguments: ["", ":5000", "host:99999", "fe80::1:2:3:4:5:6:7:8", "[::1"])
  func `an invalid address is refused`(text: String) {
    #expect(throws: PeerError.self) { try PeerSender.Target(text) }
  }

  @Test func `the library reads an address as the command does`() throws {
    expect(try PeerSender.Target("192.0.2.7"), is: .host("192.0.2.7", port: 47470))
    expect(try PeerSender.Target("[::1]:5000"), is: .host("::1", port: 5000))
  }

  @Test(arguments: [
    Failure.Kind.failed, .usage, .pairing, .refused, .connectionLost, .noSpace, .importFailed, .exportFailed,
    .busy,
    .interrupted,
  ])
  func `errors have the command's exit codes`(kind: Failure.Kind) {
    expect(PeerError(Failure(.failed, "", as: kind)).exitCode, is: kind.rawValue)
  }
}
