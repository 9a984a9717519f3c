import Foundation
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

/// The program itself as the receiver, and a sender that names items as unsent, as long and as
/// badly as it may.
@Suite final class UnsentFloodTests {
  private let scratch: Scratch
  private let receiver: SpawnedProcess
  private var sender: StrangeSender
  private let out: CInt
  /// The most memory that the receiver was seen to have, in KiB.
  private var most = 0

  init() throws {
    let scratch = try Scratch()
    var ends: [CInt] = [0, 0]
    try #require(pipe(&ends) == 0)
    for end in ends { try #require(fcntl(end, F_SETFD, FD_CLOEXEC) == 0) }
    let out = ends[0]
    defer { close(ends[1]) }
    let program = try ProcessInfo.processInfo.environment["PEER_PROGRAM"] ?? builtProgram("peer")
    receiver = try SpawnedProcess(
      program, ["peer", "receive", scratch.path("destination"), "--listen", "127.0.0.1:0", "--json"],
      environment: ["PEER_HOME=" + scratch.path("home")], descriptors: [1: ends[1]])
    let port: Int = try Self.member("port", of: "listening", from: out)
    let code: String = try Self.member("code", of: "code", from: out)
    let typed = try PairingCode(typed: Array(code.utf8))
    var sender = try StrangeClient(port: UInt16(port)).pair(typed)
    _ = try sender.begin(StrangeSender.offer([Root(kind: .directory, name: Array("root".utf8))]))
    self.sender = sender
    self.scratch = scratch
    self.out = out
  }

  /// The value of a key in the next event of a name. From then on the output has no reader.
  private static func member<Value>(_ key: String, of event: String, from out: CInt) throws -> Value {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    var record = pollfd(fd: out, events: Int16(POLLIN), revents: 0)
    while poll(&record, 1, CInt(patience * 1000)) == 1, read(out, &byte, 1) == 1 {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        continue
      }
      let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
      if object?["event"] as? String == event { return try #require(object?[key] as? Value) }
      line = []
    }
    throw TookTooLong("the event \(event)")
  }

  /// The most memory that the receiver has had, in KiB; nil once it has ended.
  private var peak: Int? {
    let status = try? String(contentsOfFile: "/proc/\(receiver.id)/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) }
  }

  deinit { close(out) }

  private func name(_ count: Int, bytes: Int) throws {
    // All of it is invisible, and becomes an escape.
    let path = [UInt8](repeating: 0x1B, count: bytes)
    for number in 0..<count {
      sender.control.say(.unsent(Unsent(path: path, reason: .vanished)))
      try sender.passOn()
      if number.isMultiple(of: 16) { look() }
    }
  }

  private func look() { most = max(most, peak ?? 0) }

  /// Returns once the receiver has heard everything that was said.
  private func beHeard() throws {
    sender.control.say(.ping(42))
    let answer = try sender.next { message -> UInt64? in if case .pong(let token) = message { token } else { nil } }
    #expect(answer == 42)
  }

  @Test func `the most allowed names cost a receiver without a reader little, and one signal ends it`() throws {
    try name(Limits.unsentBytes / Limits.path - 1, bytes: Limits.path)
    try beHeard()
    look()
    #expect(most < 64 << 10 || Sanitizer.isUsed)
    kill(receiver.id, SIGTERM)
    #expect(try receiver.exitCode() == 143)
  }

  @Test func `more names than allowed end the receiver, even without a reader`() throws {
    _ = try? name(10_000, bytes: 24_000)
    let code = try? sender.closeCode()
    look()
    #expect(code == .violation)
    #expect(try receiver.exitCode() == 1)
    #expect(most < 64 << 10 || Sanitizer.isUsed)
  }
}
