import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport

@testable import MigrationTransfer

/// The events of one side, which a test may wait for.
final class Events: Sendable {
  private let list = Condition<[TransferEvent]>([])

  func add(_ event: TransferEvent) {
    list.withLock { $0.append(event) }
    list.broadcast()
  }

  var all: [TransferEvent] { list.withLock { $0 } }

  /// The first thing that `pick` finds in the events, now or soon.
  func first<Value>(_ pick: (TransferEvent) -> Value?) throws -> Value {
    try list.wait(for: "an event") { (events) -> Value? in
      for event in events { if let value = pick(event) { return value } }
      return nil
    }
  }

  func port() throws -> UInt16 {
    try first { if case .listening(let listening) = $0 { listening.port } else { nil } }
  }

  /// The n-th code that was shown.
  func code(_ number: Int = 1) throws -> PairingCode {
    try list.wait(for: "code \(number)") { (events) -> PairingCode? in
      let codes = events.compactMap { if case .code(let code, _, _) = $0 { code } else { nil } }
      return codes.count >= number ? codes[number - 1] : nil
    }
  }

  /// The code that was shown last.
  func lastCode() throws -> PairingCode {
    try list.wait(for: "a code") { (events) -> PairingCode? in
      events.reversed().lazy.compactMap { if case .code(let code, _, _) = $0 { code } else { nil } }.first
    }
  }

  var wrongCodes: Int { all.count { if case .wrongCode = $0 { true } else { false } } }
}
