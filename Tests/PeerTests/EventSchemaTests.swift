import Expectations
import Foundation
import MigrationEngine
import MigrationTransfer
import MigrationWire
import Testing

@testable import peer

/// docs/events.schema.json has each event of the report for programs, with all members.
@Suite struct EventSchemaTests {
  /// All cases of `TransferEvent`, by name. A new case does not compile until it is listed here;
  /// then it needs a sample.
  enum Kind: CaseIterable {
    case listening, announced, unannounced, confined, unconfined, code, codeAwaited, wrongCode, codesSpent
    case looking, found, connecting, queued, transfer, paired, offer, progress
    case interrupted, resumed, staged, importing, notice, notStored, renamed, extensionOutput, plan, partEnded,
      done, failed, relayed, dataConnection, of

    init(_ event: TransferEvent) {
      self =
        switch event {
        case .listening: .listening
        case .announced: .announced
        case .unannounced: .unannounced
        case .confined: .confined
        case .unconfined: .unconfined
        case .code: .code
        case .codeAwaited: .codeAwaited
        case .wrongCode: .wrongCode
        case .codesSpent: .codesSpent
        case .looking: .looking
        case .found: .found
        case .connecting: .connecting
        case .queued: .queued
        case .transfer: .transfer
        case .paired: .paired
        case .offer: .offer
        case .relayed: .relayed
        case .dataConnection: .dataConnection
        case .progress: .progress
        case .interrupted: .interrupted
        case .resumed: .resumed
        case .staged: .staged
        case .importing: .importing
        case .notice: .notice
        case .notStored: .notStored
        case .renamed: .renamed
        case .extensionOutput: .extensionOutput
        case .done: .done
        case .plan: .plan
        case .partEnded: .partEnded
        case .failed: .failed
        case .of: .of
        }
    }

    /// Events of the kind, with all possible members.
    var samples: [TransferEvent] {
      let odd: [UInt8] = [0x61, 0xFF]
      return switch self {
      case .listening: [.listening(Listening(addresses: ["192.0.2.7"], port: 1, from: ["::1"]))]
      case .announced: [.announced(name: "a")]
      // They have no lines of their own.
      case .transfer, .of: []
      case .unannounced: [.unannounced(reason: "a")]
      case .confined: [.confined(directories: [odd])]
      case .unconfined: [.unconfined(reason: "a", directories: [odd])]
      case .relayed: [.relayed(through: "a", bytes: 7)]
      case .dataConnection:
        [.dataConnection(.direct(isIPv6: true)), .dataConnection(.direct(isIPv6: false)), .dataConnection(.relay("a"))]
      case .code:
        [
          .code(PairingCode(number: 1), lifetime: 600),
          .code(PairingCode(number: 1), lifetime: 600, place: RelayPlace(number: 5724)),
        ]
      case .codeAwaited: [.codeAwaited(lifetime: 600)]
      case .wrongCode: [.wrongCode(attempt: 1, allowed: 3, from: "a", left: 98)]
      case .codesSpent: [.codesSpent(count: 99, from: [GuessLimit.Count(network: "a", count: 99)], isOver: true)]
      case .looking: [.looking]
      case .found: [.found(label: "a", address: "b")]
      case .connecting: [.connecting(address: "a")]
      case .queued: [.queued(place: 3), .queued(place: 0)]
      case .paired: [.paired(label: "a", address: "b")]
      case .offer: [.offer(Samples.offer, availableBytes: 7), .offer(Samples.offer, availableBytes: nil)]
      case .progress:
        [
          .progress(
            TransferProgress(phase: .importing, bytes: 1, totalBytes: 2, items: 1, totalItems: 2, phaseFraction: 0.5)),
          .progress(TransferProgress(phase: .sending, bytes: 3, totalBytes: nil, items: 1, totalItems: 2)),
        ]
      case .interrupted: [.interrupted(reason: "a")]
      case .resumed: [.resumed(heldBytes: 7)]
      case .staged: [.staged]
      case .importing: [.importing]
      case .notice: [.notice("a")]
      case .notStored:
        [.notStored(Samples.unsent), .notStored(Samples.socket), .notStored(NotStored(path: odd, .tooLarge))]
      case .renamed: [.renamed(path: odd, target: odd)]
      case .extensionOutput: [.extensionOutput(isError: true, line: odd)]
      case .done:
        [
          .done(
            Samples.result(
              losses: [Done.Loss(kind: .mode, count: 1)], lostAttributes: [LostAttribute(name: odd, count: 2)]))
        ]
      case .plan: [.plan(Samples.parts, availableBytes: 7), .plan(Samples.parts, availableBytes: nil)]
      case .partEnded:
        [
          .partEnded(PartEnd(1, "a", Samples.result())), .partEnded(PartEnd(1, "a", Failure(.noSpace, "a", hint: "b"))),
          .partEnded(PartEnd(1, "a", root: odd, Failure(.exists, "a"))),
        ]
      case .failed:
        [
          .failed(
            Failure(
              .noSpace, "a", hint: "b", name: odd, bytes: Close.Space(needed: 2, available: 1),
              items: Close.Space(needed: 2, available: 1)))
        ]
      }
    }
  }

  private typealias Object = [String: Any]

  private static func schema() throws -> Object {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("docs/events.schema.json")
    return try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? Object)
  }

  private static func definition(_ event: String) throws -> Object {
    let all = try #require(try schema()["$defs"] as? Object)
    return try #require(all[event] as? Object, "no event \(event)")
  }

  @Test(arguments: Kind.allCases) func `an event has each of its members in the schema`(kind: Kind) throws {
    for sample in kind.samples {
      expect(Kind(sample), is: kind)
      var report = JSONReport(.importer) { 7 }
      expect(report.handle(.transfer(5), at: Samples.moment()), is: Rendering())
      let line = report.handle(sample, at: Samples.moment()).standardOutput
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? Object)
      let definition = try Self.definition(try #require(object["event"] as? String))
      let named = try #require(definition["properties"] as? Object)
      expect(Set(object.keys).subtracting(named.keys), is: [])
      expect(Set(try #require(definition["required"] as? [String])).subtracting(object.keys), is: [])
    }
  }

  @Test func `the event for omitted messages is in the schema`() throws {
    let named = try #require(try Self.definition("missed")["properties"] as? Object)
    expect(Set(named.keys), is: ["event", "messages", "side", "time", "transfer"])
  }

  @Test func `the schema applies each definition of an event`() throws {
    let schema = try Self.schema()
    let applied = try #require(schema["allOf"] as? [Object]).map { rule in
      ((((rule["if"] as? Object)?["properties"] as? Object)?["event"] as? Object)?["const"] as? String) ?? ""
    }
    let defined = try #require(schema["$defs"] as? Object).keys.filter { !$0.hasPrefix("type-") }
    expect(applied.sorted(), is: defined.sorted())
    for name in defined {
      let named = try #require(try Self.definition(name)["properties"] as? Object)
      expect((named["event"] as? Object)?["const"] as? String == name)
    }
  }

  @Test func `each kind of failure is in the schema, with its code`() throws {
    let named = try #require(try Self.definition("error")["properties"] as? Object)
    let kinds = try #require((named["kind"] as? Object)?["enum"] as? [String])
    let codes = try #require((named["code"] as? Object)?["enum"] as? [Int])
    for code in 0...255 as ClosedRange<Int32> {
      guard let kind = Failure.Kind(rawValue: code) else { continue }
      expect(kinds.contains(kind.name) && codes.contains(Int(code)), "\(kind)")
    }
  }
}
