import FuzzDriver
import MigrationSystem
import MigrationWire

@testable import MigrationCredentials
@testable import MigrationVault

/// A request, an answer and an item have one encoding each.
func checkCredentials(_ bytes: [UInt8]) {
  if let request = read({ try CredentialRequest(bytes) }) {
    promise(request.encoded == bytes, "a request is written differently")
  }
  if let reply = read({ try CredentialReply(bytes) }) {
    promise(reply.encoded == bytes, "an answer is written differently")
  }
  if let item = read({ try CredentialItem(bytes) }) {
    promise(item.encoded == bytes, "an item is written differently")
  }
}

/// The broker's service for an app, its clip and another app, with requests from the input: raw
/// bytes, and requests for a few items. No answer has an item that is not the program's own, or its
/// clip's, and each ends with one result.
struct BrokerWalk {
  private static let app = CredentialOwner(app: "a")
  private static let clip = CredentialOwner(clip: "a.b", of: "a")!
  private static let other = CredentialOwner(app: "c")

  private var input: InputBytes
  private let storage = MemoryCredentials()
  private let services: [(service: CredentialService<MemoryCredentials>, groups: Set<String>)]
  private var now: Int64 = 1_000

  init(_ input: ArraySlice<UInt8>) {
    self.input = InputBytes(input)
    let storage = storage
    let programs: [(CredentialPrincipal, Set<String>)] = [
      (CredentialPrincipal(owner: Self.app, clip: Self.clip), ["a", "a.b"]),
      (CredentialPrincipal(owner: Self.clip), ["a.b"]), (CredentialPrincipal(owner: Self.other), ["c"]),
    ]
    services = programs.map { (CredentialService(for: $0.0, storage: storage), $0.1) }
    storage.record(.authorized, of: "u", for: Self.clip)
  }

  mutating func run() {
    var steps = 0
    while !input.isEmpty, steps < 16 {
      steps += 1
      let number = input.number(below: 3)
      let request = request()
      let before = counts()
      now += Int64(input.byte() % 3)
      let answer = services[number].service.answer(request, now: Timestamp(seconds: now, nanoseconds: 5_500_000))
      check(answer, services[number].groups)
      checkOthers(number, before)
    }
  }

  // MARK: Requests

  private mutating func request() -> [UInt8] {
    switch input.byte() % 8 {
    case 0: return input.part()
    case 1, 2:
      return CredentialRequest.add(
        kind(), attributes(), data: input.take(input.number(below: 8)), group: group(), returning: aspects()
      ).encoded
    case 3, 4: return CredentialRequest.copy(query(), limit: 1 + UInt32(input.byte()), returning: aspects()).encoded
    case 5:
      let changes = CredentialChanges(attributes(), data: input.flag() ? [input.byte()] : nil, group: group())
      return CredentialRequest.update(query(), changes).encoded
    case 6: return CredentialRequest.delete(query()).encoded
    default: return CredentialRequest.account(user: input.flag() ? "u" : "v").encoded
    }
  }

  private mutating func kind() -> CredentialItem.Kind { input.flag() ? .genericPassword : .key }

  private mutating func aspects() -> CredentialAspects { CredentialAspects(rawValue: input.byte() & 3) }

  private mutating func group() -> String? { [nil, nil, "a", "a.b", "c"][input.number(below: 5)] }

  private mutating func attributes() -> [CredentialItem.Attribute: CredentialItem.Value] {
    var attributes: [CredentialItem.Attribute: CredentialItem.Value] = [:]
    for _ in 0..<input.number(below: 3) {
      guard let attribute = CredentialItem.Attribute(rawValue: 1 + input.byte() % 12) else { continue }
      let value = input.byte()
      attributes[attribute] = value & 1 == 0 ? .text("\(value >> 6)") : .data([value])
    }
    return attributes
  }

  private mutating func query() -> CredentialQuery {
    let created = input.byte()
    return CredentialQuery(
      kind(), attributes(), group: group(),
      created: created < 16 ? Timestamp(seconds: 1_000 + Int64(created), nanoseconds: 5_000_000) : nil)
  }

  // MARK: Promises

  private func check(_ answer: [[UInt8]], _ groups: Set<String>) {
    promise(!answer.isEmpty, "a request gets no answer")
    for (index, message) in answer.enumerated() {
      guard let reply = read({ try CredentialReply(message) }) else { fatalError("an answer cannot be read") }
      promise(message.count <= PacketSocket.longestPacket, "an answer is longer than a packet")
      switch reply {
      case .item(_, let group):
        promise(index < answer.count - 1, "an answer has no result")
        promise(groups.contains(group), "a program gets an item of \(group)")
      case .ended, .account: promise(index == answer.count - 1, "an answer goes on behind its result")
      }
    }
  }

  private func counts() -> [Int] { [Self.app, Self.clip, Self.other].map { storage.items(of: $0).count } }

  /// A program adds only to its own items, and removes only those and its clip's.
  private func checkOthers(_ number: Int, _ before: [Int]) {
    for (index, (was, has)) in zip(before, counts()).enumerated() where index != number {
      promise(has <= was, "a program adds items to another")
      promise(has == was || number == 0 && index == 1, "a program removes items of another")
    }
    for owner in [Self.app, Self.clip, Self.other] {
      let items = storage.items(of: owner).map(\.item)
      promise(Set(items.map(\.identity)).count == items.count, "two items are the same")
      promise(items.allSatisfy(\.isWithinLimits), "an item is beyond the limits")
    }
  }
}
