import Foundation
import Glibc
import MigrationHost
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import AppMigrationKit

@Suite struct HostConnectionTests {
  /// The test has a separate process, because the thread that serves the connection ends only with
  /// its process.
  @Test func `each of many parallel appends gets its own answer`() async {
    await #expect(processExitsWith: .success) {
      // The testing library waits for this process without a deadline; the alarm ends it.
      alarm(UInt32(patience))
      var pair = try PacketSocket.pair()
      let hostSocket = SharedDescriptor(pair.takeOne().release())
      let host = try OwnerThread(name: "test host") { refuseEverything(on: hostSocket) }
      let connection = try HostConnection(pair.takeOther()) { _, _ in }
      let server = try OwnerThread(name: "server") { connection.serve() }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for author in 0..<6 {
          group.addTask(executorPreference: BlockingExecutor.shared) {
            for number in 0..<500 {
              // Pauses let the serving thread take over between appends.
              if number % 125 == author { try await Task.sleep(for: .milliseconds(15)) }
              let path = "\(author)/\(number)"
              let error = #expect(throws: CocoaError.self) {
                try connection.append(
                  AppendableItem.symbolicLink(target: [1], modified: ItemTime(seconds: 0, nanoseconds: 0)),
                  at: ArchivePath(Array(path.utf8)))
              }
              precondition(error?.localizedDescription == path)
            }
          }
        }
        try await group.waitForAll()
      }
      withExtendedLifetime((host, server)) {}
    }
  }

  /// One thread may receive the other's answer, just before the other thread gets the channel.
  @Test func `no parallel append waits for an answer that has already come`() async {
    await #expect(processExitsWith: .success) {
      // The testing library waits for this process without a deadline; the alarm ends it.
      alarm(UInt32(patience))
      var pair = try PacketSocket.pair()
      let hostSocket = SharedDescriptor(pair.takeOne().release())
      let host = try OwnerThread(name: "test host") { refuseEverything(on: hostSocket) }
      let connection = try HostConnection(pair.takeOther()) { _, _ in }
      for round in 0..<100 * Rounds.count {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for author in 0..<8 {
            group.addTask(executorPreference: BlockingExecutor.shared) {
              let path = try ArchivePath(Array("\(round)/\(author)".utf8))
              #expect(throws: CocoaError.self) {
                try connection.append(
                  AppendableItem.symbolicLink(target: [1], modified: ItemTime(seconds: 0, nanoseconds: 0)), at: path)
              }
            }
          }
          try await group.waitForAll()
        }
      }
      withExtendedLifetime(host) {}
    }
  }
}

/// Refuses every append with its own path.
private func refuseEverything(on socket: SharedDescriptor) {
  do {
    var channel = Channel(PacketSocket(owning: try socket.descriptor.duplicate()))
    while true {
      guard case .packet(let incoming) = try channel.receive(),
        case .append(let item) = try ExtensionMessage(incoming.bytes)
      else { return }
      let path = String(decoding: item.path, as: UTF8.self)
      try channel.send(HostMessage.appended(ReportedError(.fileWriteFileExists, path)).encoded)
    }
  } catch {
    preconditionFailure("\(error)")
  }
}
