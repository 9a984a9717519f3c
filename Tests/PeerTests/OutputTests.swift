import Expectations
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport
import Testing

@testable import peer

@Suite struct OutputTests {
  /// Collects the written texts.
  private final class Paper: Sendable {
    private let lines = Mutex<[String]>([])
    var text: [String] { lines.withLock { $0 } }
    func put(_ text: String) {
      lines.withLock { lines in lines += text.split(separator: "\n").map(String.init) }
    }

    /// A target that writes standard output to this pipe and drops standard error.
    func target(_ wait: @escaping @Sendable () -> Void = {}) -> OutputTarget {
      OutputTarget(
        write: { text, stream, _ in
          wait()
          if stream == .output { self.put(text) }
        },
        attempt: { text, stream in if stream == .output { self.put(text) } })
    }
  }

  private let paper = Paper()
  private let output: Output

  init() {
    output = Output(JSONReport(), to: paper.target())
  }

  @Test func `events are written in their order, and the result ends them`() {
    output.handle(.connecting(address: "a"))
    output.handle(.staged)
    output.handle(.importing)
    expect(output.finish(Samples.result()), is: 0)
    expect(
      paper.text.map { $0.prefix(20) },
      is: [
        #"{"event":"connecting"#, #"{"event":"staged"}"#, #"{"event":"importing""#, #"{"event":"done","ite"#,
      ])
  }

  @Test func `the result is written once, and nothing after it`() {
    output.handle(.done(Samples.result()))
    output.handle(.staged)
    _ = output.finish(Samples.result())
    output.handle(.staged)
    expect(paper.text.count, is: 1)
  }

  @Test func `another transfer after the result is reported to its own result`() {
    output.handle(.done(Samples.result()))
    output.handle(.staged)
    output.handle(.transfer(7))
    output.handle(.importing)
    output.handle(.done(Samples.result()))
    _ = output.finish(Samples.result())
    expect(paper.text.map { $0.prefix(16) }, is: [#"{"event":"done","#, #"{"event":"import"#, #"{"event":"done","#])
  }

  @Test func `the exit code is that of the last transfer of a run`() {
    output.handle(.notStored(Samples.unsent))
    output.handle(.done(Samples.result(unsent: 1)))
    output.handle(.transfer(7))
    output.handle(.done(Samples.result()))
    expect(output.finish(Samples.result()), is: 0)
  }

  @Test func `unsent items become the exit code`() {
    output.handle(.notStored(Samples.unsent))
    expect(output.finish(Samples.result(unsent: 1)), is: 8)
  }

  @Test func `a failure is the last output, even without other output`() {
    expect(output.fail(Failure(.refused, "no")), is: 4)
    expect(
      paper.text,
      is: [
        #"{"event":"error","code":4,"kind":"refused","cause":"refused","there":false,"message":"no","hint":null}"#
      ])
  }

  @Test func `an interruption names the way to go on, once data has moved, or the sender has a record`() {
    let interrupted = Failure(.interrupted, "interrupted")
    expect(output.fail(interrupted), is: 130)
    expect(paper.text.last?.hasSuffix(#""hint":null}"#), is: true)
    let other = Output(JSONReport(), to: paper.target())
    other.handle(
      .progress(TransferProgress(phase: .sending, bytes: 0, totalBytes: 1, items: 0, totalItems: 1)))
    _ = other.fail(interrupted)
    expect(paper.text.last?.hasSuffix(#""hint":"Run the same command again to go on."}"#), is: true)
    for (role, hint) in [(Role.sender, #""Run the same command again to go on.""#), (.receiver, "null")] {
      let begun = Output(JSONReport(), to: paper.target(), as: role)
      begun.handle(.transfer(7))
      _ = begun.fail(interrupted)
      expect(paper.text.last?.contains(#""hint":\#(hint)"#), is: true)
    }
  }

  @Test func `the list of items is sorted, as text or as JSON, and its place precedes the result`() throws {
    let scratch = try Scratch()
    for (name, list) in [
      ("list.txt", "a: vanished before it was sent\nb: was saved as 'c'\n"),
      (
        "list.json",
        """
        [
        {"event":"notStored","path":"a","by":"sender","reason":"vanished","message":null},
        {"event":"renamed","path":"b","arrivedAs":"c"}
        ]

        """
      ),
    ] {
      let output = Output(JSONReport(), to: paper.target())
      output.list(in: try ItemList.File(scratch.at(name), in: [], .sender))
      output.handle(.renamed(path: Array("b".utf8), target: Array("c".utf8)))
      output.handle(.notStored(NotStored(path: Array("a".utf8), .vanished)))
      expect(output.finish(Samples.result(unsent: 1)), is: 8)
      expect(String(decoding: scratch.read(name), as: UTF8.self), is: list)
      expect(paper.text.suffix(2).first, is: #"{"event":"notice","message":"'\#(scratch.path(name))' lists 2 items"}"#)
    }
    let many = Output(JSONReport(), to: paper.target())
    many.list(in: try ItemList.File(nil, in: scratch.at(""), .receiver))
    for number in 0...20 { many.handle(.notStored(NotStored(path: Array("\(number)".utf8), .vanished))) }
    _ = many.finish(Samples.result(unsent: 21))
    expect(scratch.read("last-receive.txt").count { $0 == UInt8(ascii: "\n") }, is: 21)
  }

  @Test func `held output is neither written nor lost`() {
    output.handle(.connecting(address: "a"))
    output.hold {
      let before = paper.text.count
      output.handle(.staged)
      expect(paper.text.count, is: before)
    }
    _ = output.finish(Samples.result())
    expect(paper.text.count, is: 3)
  }

  @Test func `events before a question are written before it`() throws {
    let isAsked = Condition(false)
    let slow = Output(
      JSONReport(), to: paper.target { _ = try? isAsked.wait(for: "the question") { $0 ? true : nil } })
    slow.handle(.connecting(address: "a"))
    let asking = try RunningThread("test") { [paper] in
      for address in ["b", "c"] { slow.handle(.connecting(address: address)) }
      isAsked.withLock { $0 = true }
      isAsked.broadcast()
      return slow.hold { paper.text.count }
    }
    expect(try asking.value(), is: 3)
    _ = slow.finish(Samples.result())
  }

  @Test func `many threads may report at once`() throws {
    let threads = try (0..<4).map { number in
      try RunningThread("test") { [output] in
        for _ in 0..<500 { output.handle(.connecting(address: "\(number)")) }
      }
    }
    for thread in threads { try thread.value() }
    _ = output.finish(Samples.result())
    expect(paper.text.count, is: 2001)
  }

  @Test func `a stopped reader blocks no thread, and gets only the latest progress`() throws {
    let gate = Condition(false)
    let slow = Output(
      JSONReport(), to: paper.target { _ = try? gate.wait(for: "that the reader goes on") { $0 ? true : nil } })
    for bytes in 0..<100_000 as Range<UInt64> { slow.handle(Samples.progress(bytes, of: 100_000)) }
    // The completed phase is reported at once, at any speed.
    slow.handle(
      .progress(TransferProgress(phase: .receiving, bytes: 100_000, totalBytes: 100_000, items: 2, totalItems: 2)))
    gate.withLock { $0 = true }
    gate.broadcast()
    _ = slow.finish(Samples.result())
    expect(paper.text.count <= 4)
    expect(paper.text.dropLast().last?.contains(#""bytes":100000,"#), is: true)
  }
}
