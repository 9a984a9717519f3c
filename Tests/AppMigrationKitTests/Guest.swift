import Foundation
import Glibc
import MigrationHost
import MigrationSystem
import MigrationWire
import Testing

/// A real process of the fixture, with this test as its host.
final class Guest {
  /// What the process said, and the descriptor that came along.
  struct Heard: ~Copyable {
    let message: ExtensionMessage
    var descriptor: Descriptor?
  }

  private let process: FixtureProcess
  private var channel: Channel?
  private var poller: Poller

  /// The group that the fixture may use.
  static let group = "group.org.example.notes"

  /// Starts a process whose container and group are in a scratch directory.
  init(_ scratch: Scratch, output: CInt? = nil) throws {
    poller = try Poller()
    var pair = try PacketSocket.pair()
    let theirs = pair.takeOther()
    let environment = AppEnvironment(
      bundleIdentifier: "org.example.notes", container: scratch.path("container"),
      groups: [Self.group: scratch.path("group")], status: scratch.path("status"), channel: 3)
    process = try FixtureProcess(
      ["\(AppEnvironment.variable)=\(environment.encoded)"], channel: theirs.raw, output: output)
    channel = Channel(pair.takeOne())
  }

  func say(_ message: HostMessage) throws { try channel?.send(message.encoded) }

  /// The next message; fails if there is none for long.
  func hear() throws -> Heard {
    guard let raw = channel?.raw else { throw Ended() }
    let readiness = try poller.wait(for: .readable, on: raw, until: .now() + .seconds(60))
    try #require(!readiness.isEmpty, "the process says nothing")
    guard let arrival = try channel?.receive(), case .message(var incoming) = consume arrival else { throw Ended() }
    return Heard(message: try ExtensionMessage(incoming.bytes), descriptor: incoming.descriptor.take())
  }

  /// The process has closed its end.
  struct Ended: Error {}

  /// The next message without what came along.
  func message() throws -> ExtensionMessage { try hear().message }

  /// More than any test appends.
  private static let mostAppends = 10_000

  /// Answers every append until the export is over: their paths, and how it ended.
  func appends(_ answer: (AppendedItem) throws -> ReportedError? = { _ in nil }) throws -> ([String], ReportedError?) {
    var paths: [String] = []
    while paths.count < Self.mostAppends {
      switch try message() {
      case .append(let item):
        paths.append(String(decoding: item.path, as: UTF8.self))
        try say(.appended(answer(item)))
      case .ended(let error): return (paths, error)
      case let other: throw Unexpected(description: "\(other)")
      }
    }
    throw Unexpected(description: "the appends do not end")
  }

  struct Unexpected: Error, CustomStringConvertible { let description: String }

  /// Ends the channel; the code that the process exits with.
  func end() throws -> Int32 {
    channel = nil
    return try process.exitCode()
  }

  /// The code that the process exits with by itself.
  func exitCode() throws -> Int32 { try process.exitCode() }
}

/// The fixture's process; it does not outlive this.
final class FixtureProcess {
  private let process: pid_t
  /// Whose other end the process holds as long as it lives.
  private let life: Descriptor
  private var isOver = false

  init(_ environment: [String], channel: CInt? = nil, output: CInt? = nil) throws {
    var ends: [CInt] = [0, 0]
    try #require(pipe(&ends) == 0)
    let other = Descriptor(owning: ends[1])
    life = Descriptor(owning: ends[0])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    process = try Self.start(
      environment, [3: channel, 4: other.raw, 1: output, 2: output].compactMapValues { $0 })
  }

  deinit {
    guard !isOver else { return }
    kill(process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  /// Waits for the process; its exit code, or the negative number of the signal that ended it.
  func exitCode() throws -> Int32 {
    var poller = try Poller()
    let readiness = try poller.wait(for: .readable, on: life.raw, until: .now() + .seconds(60))
    try #require(!readiness.isEmpty, "the process does not end")
    var status: Int32 = 0
    try #require(waitpid(process, &status, 0) == process)
    isOver = true
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
  }

  /// The program is beside that of the tests.
  private static func start(_ environment: [String], _ descriptors: [CInt: CInt]) throws -> pid_t {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "ExtensionFixture").path
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, descriptor) in descriptors { posix_spawn_file_actions_adddup2(&actions, descriptor, number) }
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, program, &actions, nil, &arguments, &variables)
    try #require(code == 0, "\(program): \(code)")
    return process
  }
}
