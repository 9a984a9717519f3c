import Expectations
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationHost

@Suite struct OutputRelayTests {
  /// The lines that are shown of an output that ends.
  private func lines(of output: String) throws -> [String] {
    let scratch = try Scratch()
    scratch.write("output", Array(output.utf8))
    let shown = Condition<[String]>([])
    let source = try Descriptor.open(scratch.at("output"))
    var relay = ExtensionProcess.OutputRelay(stream: .error, source: source) { output in
      shown.withLock { $0.append(String(decoding: output.line, as: UTF8.self)) }
    }
    while relay.isOpen { relay.pass() }
    return shown.withLock { $0 }
  }

  @Test func `a last line without an end is shown when the output ends`() throws {
    expect(try lines(of: "one\n\nlast"), is: ["one", "", "last"])
    expect(try lines(of: "one\n"), is: ["one"])
  }

  @Test func `a very long line is shown in pieces`() throws {
    let pieces = try lines(of: String(repeating: "x", count: 9_000) + "\nnext")
    expect(pieces.map(\.utf8.count), is: [4096, 4096, 808, 4])
  }
}
