import Expectations
import Foundation
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer
import TestSupport
import Testing

@testable import peer

/// A pipe whose reader reads on demand.
final class HeldPipe: Sendable {
  /// The program's end.
  let writing: CInt
  private let reading: CInt
  /// The bytes after the last complete line.
  private let rest = Mutex<[UInt8]>([])

  init() throws {
    SignalSource.ignoreBrokenPipe()
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { throw SystemError(errno: errno, operation: "make a pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(writing)
    close(reading)
  }

  /// Fills the pipe with empty lines, so that it accepts no more. This uses a descriptor of its
  /// own, since a process may share the other one.
  func fill() throws {
    let raw = open("/proc/self/fd/\(writing)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(raw >= 0)
    defer { close(raw) }
    while write(raw, "\n", 1) == 1 {}
  }

  /// The next line; nil if none comes soon.
  func line() -> String? {
    rest.withLock { rest in
      var piece = [UInt8](repeating: 0, count: 4096)
      var record = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
      while true {
        if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          defer { rest.removeFirst(end + 1) }
          return String(decoding: rest[..<end], as: UTF8.self)
        }
        guard poll(&record, 1, CInt(patience * 1000)) == 1 else { return nil }
        let count = read(reading, &piece, piece.count)
        guard count > 0 else { return nil }
        rest += piece[..<count]
      }
    }
  }

  /// The next lines, up to a line with this beginning.
  func lines(to last: String) -> [String] {
    var lines: [String] = []
    while let line = line() {
      if !line.isEmpty { lines.append(line) }
      if line.hasPrefix(last) { break }
    }
    return lines
  }
}

@Suite struct StoppedReaderTests {
  private let pipe: HeldPipe
  private let output: Output

  init() throws {
    let pipe = try HeldPipe()
    self.pipe = pipe
    output = Output(JSONReport(), to: .descriptors(output: pipe.writing, error: pipe.writing))
  }

  private func tell(_ count: Int, bytes: Int = 4000, to output: Output) {
    let line = [UInt8](repeating: 0x61, count: bytes)
    for _ in 0..<count { output.handle(.extensionOutput(isError: false, line: line)) }
  }

  @Test func `a stopped reader neither prevents the program's end nor changes its exit code`() throws {
    let (output, pipe) = (output, pipe)
    tell(30, to: output)
    output.handle(.notStored(Samples.unsent))
    let ending = try RunningThread("end") { output.finish(Samples.result(unsent: 1)) }
    expect(try ending.value(), is: 8)
    withExtendedLifetime(pipe) {}
  }

  @Test func `a reader that takes nothing has a quarter of a second after the user's stop`() {
    var state = OutputState(JSONReport())
    expect(state.patience, is: .seconds(1))
    state.isHurried = true
    expect(state.patience, is: .milliseconds(250))
  }

  @Test func `the result is told although a disk does not answer`() throws {
    let (output, pipe) = (output, pipe)
    let disk = DispatchSemaphore(value: 0)
    defer { disk.signal() }
    output.advise { _ in
      disk.wait()
      return []
    }
    output.handle(.plan(Array(Samples.parts.prefix(1)), availableBytes: nil))
    output.handle(.partEnded(PartEnd(0, "a", Samples.result())))
    output.hurry()
    let ending = try RunningThread("end") { output.finish(Samples.result()) }
    expect(pipe.lines(to: #"{"event":"done""#).last?.hasPrefix(#"{"event":"done""#), is: true)
    expect(try ending.value(), is: 0)
  }

  @Test func `a failure is written to standard error even if the reader of standard output has stopped`() throws {
    let errors = try HeldPipe()
    let output = Output(JSONReport(), to: .descriptors(output: pipe.writing, error: errors.writing))
    tell(30, to: output)
    let ending = try RunningThread("end") { output.fail(Failure(.refused, "no")) }
    expect(try ending.value(), is: 4)
    expect(errors.line(), is: "peer: error: no")
  }

  @Test func `the result is written to standard output even if the reader of standard error has stopped`() throws {
    let errors = try HeldPipe()
    let output = Output(
      HumanReport(.receiver, on: .log), to: .descriptors(output: pipe.writing, error: errors.writing))
    tell(30, to: output)
    let ending = try RunningThread("end") { output.finish(Samples.result()) }
    expect(try ending.value(), is: 0)
    expect(pipe.line()?.hasPrefix("Received 1,204 items"), is: true)
  }

  @Test func `a reader that continues in time gets everything, with the last output at the end`() throws {
    let (output, pipe) = (output, pipe)
    tell(500, to: output)
    let ending = try RunningThread("end") { output.finish(Samples.result()) }
    let lines = pipe.lines(to: #"{"event":"done""#)
    expect(lines.count, is: 501)
    expect(try ending.value(), is: 0)
  }

  @Test func `a reader that stops and continues gets the number of missed messages, and all important ones`() throws {
    let (output, pipe) = (output, pipe)
    tell(3000, to: output)
    output.handle(.paired(label: "a", address: "b"))
    tell(3000, to: output)
    let ending = try RunningThread("end") { output.fail(Failure(.noSpace, "full")) }
    let lines = pipe.lines(to: #"{"event":"error""#)
    expect(try ending.value(), is: 6)
    let missed = lines.compactMap { line -> Int? in
      guard line.hasPrefix(#"{"event":"missed","messages":"#) else { return nil }
      return Int(line.filter(\.isNumber))
    }
    let said = lines.count { $0.hasPrefix(#"{"event":"extensionOutput""#) }
    expect(said + missed.reduce(0, +), is: 6000)
    expect(said * 4000 <= OutputQueue.capacity + 64 << 10)
    expect(lines.contains { $0.hasPrefix(#"{"event":"paired""#) })
  }

  @Test func `a question is asked even if the reader has stopped`() throws {
    let (output, pipe) = (output, pipe)
    tell(30, to: output)
    let question = try RunningThread("question") { output.hold { 7 } }
    expect(try question.value(), is: 7)
    // Another test may soon use the pipe's number, and nothing must be written to it then.
    let ending = try RunningThread("end") { output.finish(Samples.result()) }
    expect(pipe.lines(to: #"{"event":"done""#).count, is: 31)
    expect(try ending.value(), is: 0)
  }
}

/// The program itself, as a process.
@Suite struct StoppedProcessTests {
  private let scratch: Scratch
  private let out: HeldPipe
  private let receiver: SpawnedProcess
  private let program: String

  init() throws {
    scratch = try Scratch()
    out = try HeldPipe()
    program = try builtProgram("peer")
    receiver = try SpawnedProcess(
      program, ["peer", "receive", scratch.path("destination"), "--listen", "127.0.0.1:0", "--json"],
      environment: ["PEER_HOME=" + scratch.path("receiver")], descriptors: [1: out.writing])
  }

  /// The member of a receiver's event.
  private func member<Value>(_ name: String, of event: String) throws -> Value {
    let line = try #require(out.lines(to: "{\"event\":\"\(event)\"").last)
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    return try #require(object?[name] as? Value)
  }

  @Test func `a receiver without a reader ends by itself when the transfer is done`() throws {
    let port: Int = try member("port", of: "listening")
    let code: String = try member("code", of: "code")
    scratch.write("code", code + "\n")
    scratch.write("file", "hello")
    try out.fill()
    let sender = try SpawnedProcess(
      program,
      ["peer", "send", scratch.path("file"), "--to", "127.0.0.1:\(port)", "--code-file", scratch.path("code")],
      environment: ["PEER_HOME=" + scratch.path("sender")])
    expect(try sender.exitCode(), is: 0)
    expect(try receiver.exitCode(), is: 0)
    expect(scratch.read("destination/file"), is: Array("hello".utf8))
  }

  @Test func `one signal ends a receiver without a reader`() throws {
    _ = try member("code", of: "code") as String
    try out.fill()
    kill(receiver.id, SIGTERM)
    expect(try receiver.exitCode(), is: 143)
  }
}
