import COpenSSL
import FuzzDriver

@testable import MigrationTLS

/// Two ends that have shaken hands, and a network between them that cuts their records anywhere.
///
/// Each end reads the bytes that the other has written, in their order, although both renew their
/// keys all the time. One handshake serves all intact inputs, since each leaves the ends as it
/// found them, with nothing under way. An attack changes or invents a byte, and ends the session:
/// from then on nothing more is read, and the first error stays. Each attack takes two new ends,
/// and so a handshake, which is why it is a target of its own.
final class TLSWalk {
  // Unsafe: libFuzzer calls from one thread, and the ends stay from one input to the next.
  nonisolated(unsafe) static let shared = TLSWalk()

  private static let recordsPerKey = 3

  private let client: TLSContext
  private let server: TLSContext
  private var ends: Ends?

  private init() {
    do {
      client = try TLSContext(role: .client, identity: .generate())
      server = try TLSContext(role: .server, identity: .generate())
    } catch { fatalError("\(error)") }
  }

  func run(_ input: InputBytes) {
    var input = input
    do {
      if ends == nil { ends = try makeEnds() }
      try ends!.walk(&input)
    } catch { fatalError("an intact session ends: \(error)") }
  }

  func attack(_ input: InputBytes) {
    var input = input
    do { try makeEnds().attack(&input) } catch { fatalError("a session ends before its attack: \(error)") }
  }

  private func makeEnds() throws -> Ends { try Ends(client, server, recordsPerKey: Self.recordsPerKey) }
}

/// Both ends, and the bytes that each has written and the other has not read.
private struct Ends: ~Copyable {
  private var link: Link
  private var toServer: [UInt8] = []
  private var toClient: [UInt8] = []
  private var next: UInt8 = 0

  init(_ client: TLSContext, _ server: TLSContext, recordsPerKey: Int) throws {
    var link = Link(
      try TLSSession(client, bufferSize: 20_000, recordsPerKey: recordsPerKey),
      try TLSSession(server, bufferSize: 20_000, recordsPerKey: recordsPerKey))
    try link.shakeHands()
    self.link = link
  }

  // MARK: Intact

  mutating func walk(_ input: inout InputBytes) throws {
    while !input.isEmpty { try step(&input) }
    var moved = 0
    repeat {
      moved = link.carryToServer() + link.carryToClient()
      try readServer(.max)
      try readClient(.max)
    } while moved > 0
    promise(toServer.isEmpty && toClient.isEmpty, "written bytes do not arrive")
    promise(link.client.pendingOutput == 0 && link.server.pendingOutput == 0, "something waits behind the end")
  }

  private mutating func step(_ input: inout InputBytes) throws {
    let kind = input.byte()
    let count = 1 + Int(kind >> 3) * (kind & 1 == 0 ? 1 : 37)
    switch kind % 8 {
    case 0, 1: try writeClient(count)
    case 2, 3: try writeServer(count)
    case 4: link.carryToServer(count)
    case 5: link.carryToClient(count)
    case 6: try readServer(count)
    default: try readClient(count)
    }
  }

  private mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in
      next &+= 1
      return next
    }
  }

  private mutating func writeClient(_ count: Int) throws {
    let bytes = bytes(count)
    let step = try link.client.write(bytes.span)
    if case .bytes(let taken) = step { toServer += bytes.prefix(taken) }
  }

  private mutating func writeServer(_ count: Int) throws {
    let bytes = bytes(count)
    let step = try link.server.write(bytes.span)
    if case .bytes(let taken) = step { toClient += bytes.prefix(taken) }
  }

  private mutating func readServer(_ count: Int) throws {
    try Self.read(&link.server, min(count, 4096), &toServer)
  }

  private mutating func readClient(_ count: Int) throws {
    try Self.read(&link.client, min(count, 4096), &toClient)
  }

  private static func read(_ end: inout TLSSession, _ count: Int, _ expected: inout [UInt8]) throws {
    while true {
      let (step, bytes) = try readOnce(&end, count)
      switch step {
      case .bytes(let got):
        promise(expected.starts(with: bytes.prefix(got)), "other bytes are read than were written")
        expected.removeFirst(got)
        if got < count { return }
      case .needsInput: return
      case .closed: fatalError("a session is closed that no end has closed")
      }
    }
  }

  private static func readOnce(_ end: inout TLSSession, _ count: Int) throws -> (TLSSession.ReadStep, [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: count)
    let step = try end.read(into: &buffer, 0..<count)
    return (step, buffer)
  }

  // MARK: Attacked

  /// The network changes a byte of a record from the client, or puts bytes of its own in front.
  consuming func attack(_ input: inout InputBytes) throws {
    try writeClient(1 + Int(input.byte()))
    var ciphertext = link.client.takeOutput()
    let place = Int(input.byte()) << 8 | Int(input.byte())
    let change = input.byte()
    if change == 0 {
      ciphertext = input.all() + ciphertext
    } else {
      ciphertext[place % ciphertext.count] ^= change
    }
    link.server.put(Array(ciphertext.prefix(link.server.inputSpace)))
    link.server.transportEnded()
    var read = 0
    var codes: [TLSError.Code] = []
    while codes.count < 3 {
      do {
        let (step, bytes) = try Self.readOnce(&link.server, 512)
        guard case .bytes(let got) = step else { fatalError("a session goes on behind an attack: \(step)") }
        promise(toServer.dropFirst(read).starts(with: bytes.prefix(got)), "other bytes are read than were written")
        read += got
      } catch let error as TLSError { codes.append(error.code) }
    }
    promise(codes[1...].allSatisfy { $0 == codes[0] }, "the first error does not stay")
    promise(read <= toServer.count, "more is read than was written")
  }
}
