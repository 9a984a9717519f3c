import Expectations
import TestSupport
import Testing

@testable import MigrationWire

@Suite struct VectorTests {
  @Test func `every vector is there, and every expectation has one`() {
    let names = Set(Vector.all.map(\.name))
    expect(names.count, is: 131)
    expect(names.isSuperset(of: Expected.all.keys))
    let unexpected = names.subtracting(Expected.all.keys)
    expect(
      unexpected.allSatisfy {
        $0.hasSuffix("unknown") || ["close-needed", "data-zstd", "not-stored-state-error"].contains($0)
      })
  }

  @Test(arguments: Vector.all)
  func `a vector decodes and encodes to the same bytes`(vector: Vector) throws {
    let frame = try vector.decoded()
    expect(frame.bytes, is: vector.bytes)
  }

  @Test(arguments: Vector.all.filter { Expected.all[$0.name] != nil })
  func `a vector decodes to the expected value, and the value encodes to the vector`(vector: Vector) throws {
    let expected = Expected.all[vector.name]!
    let decoded = try vector.decoded()
    expect(decoded, is: expected)
    expect(expected.bytes, is: vector.bytes)
  }

  @Test(arguments: Vector.all.filter { $0.name.hasPrefix("close") })
  func `CLOSE is valid on data streams too`(vector: Vector) throws {
    let message = try #require(try Frame.onStream(vector.bytes))
    expect(message.frame(), is: vector.bytes)
  }

  @Test(arguments: Vector.all.filter { !$0.isEarly })
  func `a frame on the wrong kind of connection is refused`(vector: Vector) throws {
    let type = vector.bytes[0]
    let body = Limits.frameHeader..<vector.bytes.count
    if type < 0x30 {
      guard type != 0x20 else { return }
      #expect(throws: Violation.self) { try Frame.onStream(vector.bytes) }
    } else if FrameType(rawValue: type).mayBeIgnored {
      expect(try Frame.onStream(vector.bytes) == nil)
    } else {
      #expect(throws: Violation.self) {
        try ControlMessage(FrameType(rawValue: type), vector.bytes.span, body)
      }
    }
  }

  @Test func `the greeting's known fields are read beside unknown ones`() throws {
    guard case .control(.greeting(let greeting)) = try Vector.named("greeting-unknown").decoded() else {
      Issue.record("no greeting")
      return
    }
    expect(greeting.label == "desk" && greeting.software == "peer 9" && greeting.features.rawValue == .max)
    expect(greeting.request?.bundleIdentifier == "i" && greeting.request?.platform == "p")
    expect(greeting != Greeting(role: .receiver, label: "desk", software: "peer 9", features: greeting.features))
  }

  @Test func `a plan and a verdict are read beside unknown fields`() throws {
    guard case .control(.plan(let plan)) = try Vector.named("plan-unknown").decoded(),
      case .app(let app) = plan.parts[0].contents,
      case .control(.verdict(let verdict)) = try Vector.named("verdict-unknown").decoded()
    else {
      Issue.record("no plan or verdict")
      return
    }
    expect(app.bundleIdentifier == "org.example.notes" && app.version == "2.1")
    expect(plan.parts.count == 1 && plan.flags.rawValue == .max)
    expect(verdict.parts, is: [.taken()])
  }

  /// Frames that are refused: `name = hex`, with `hex*count` for what is repeated; of a verdict the
  /// plan and the verdict.
  private static let violations = lines("violations").map { line in
    let halves = line.split(separator: " = ", maxSplits: 1)
    return (String(halves[0]), String(halves[1]))
  }

  @Test(arguments: violations)
  func `a vector that breaks a rule is refused`(name: String, hex: String) throws {
    var bytes: [UInt8] = []
    for word in hex.split(separator: " ") {
      let halves = word.split(separator: "*")
      let piece = MigrationWireTests.bytes(hex: halves[0])
      for _ in 0..<(halves.count > 1 ? Int(halves[1])! : 1) { bytes += piece }
    }
    var plan: Plan?
    let violation = thrown { () throws(Violation) in
      while !bytes.isEmpty {
        let length = Limits.frameHeader + (try FrameHeader(bytes.span.extracting(first: Limits.frameHeader))).length
        switch try Frame(Array(bytes.prefix(length))) {
        case .control(.plan(let read)): plan = read
        case .control(.verdict(let verdict)): try verdict.check(against: plan!)
        default: break
        }
        bytes.removeFirst(length)
      }
    }
    expect(violation != nil)
    // The plan of a verdict is right.
    if name.contains("verdict") || name.contains("left out") { expect(plan != nil) }
  }

  @Test func `a figure of CLOSE may stand without its counterpart`() throws {
    guard case .control(.close(let close)) = try Vector.named("close-needed").decoded() else {
      Issue.record("no close")
      return
    }
    expect(close.code == .noSpace && close.bytes == nil && close.items == nil)
  }

  @Test func `the packed frame keeps its payload for the unpacker`() throws {
    guard case .packed(let header, let payload) = try Vector.named("data-zstd").decoded() else {
      Issue.record("not packed")
      return
    }
    expect(header, is: DataHeader(sequence: 11, encoding: .zstd, plainLength: payload.count - 9))
    expect(Array(payload.dropFirst(9)), is: Array(Vector.named("data-directory").bytes.dropFirst(18)))
  }
}
