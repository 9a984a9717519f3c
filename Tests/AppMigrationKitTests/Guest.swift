import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// A real process of the fixture, with this test as its host.
final class Guest {
  /// A message of the process, and the descriptor that came with it.
  struct Heard: ~Copyable {
    let message: ExtensionMessage
    var descriptor: Descriptor?
  }

  private let process: SpawnedProcess
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
    process = try SpawnedProcess(
      fixture: ["\(AppEnvironment.variable)=\(environment.encoded)"], channel: theirs.raw, output: output)
    channel = Channel(pair.takeOne())
  }

  func say(_ message: HostMessage) throws { try channel?.send(message.encoded) }

  /// Returns the next message; fails if none comes in time.
  func hear() throws -> Heard {
    guard let raw = channel?.raw else { throw Ended() }
    let readiness = try poller.wait(for: .readable, on: raw, until: soon())
    try #require(!readiness.isEmpty, "the process says nothing")
    guard let arrival = try channel?.receive(), case .packet(var incoming) = consume arrival else { throw Ended() }
    return Heard(message: try ExtensionMessage(incoming.bytes), descriptor: incoming.descriptor.take())
  }

  /// The process has closed its end.
  struct Ended: Error {}

  /// Returns the next message without its descriptor.
  func message() throws -> ExtensionMessage { try hear().message }

  /// More than any test appends.
  private static let mostAppends = 10_000

  /// Answers every append until the export has ended; returns their paths and the result.
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

  /// Ends the channel; returns the exit code of the process.
  func end() throws -> Int32 {
    channel = nil
    return try process.exitCode()
  }

  /// Returns the exit code of a process that ends by itself.
  func exitCode() throws -> Int32 { try process.exitCode() }
}

extension SpawnedProcess {
  /// Starts the fixture, with the given channel and output if there are any.
  convenience init(fixture environment: [String], channel: CInt? = nil, output: CInt? = nil) throws {
    let program = try builtProgram("TestAppExtension")
    let descriptors = [3: channel, 0: 0, 1: output ?? 1, 2: output ?? 2] as [CInt: CInt?]
    try self.init(program, ["Fixture"], environment: environment, descriptors: descriptors.compactMapValues { $0 })
  }
}
