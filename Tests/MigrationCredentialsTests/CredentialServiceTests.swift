import Expectations
import MigrationSystem
import Testing

@testable import MigrationCredentials

private typealias Attributes = [CredentialItem.Attribute: CredentialItem.Value]

/// An app, its clip and another app over one storage.
private struct Place {
  static let app = CredentialOwner(app: "org.example.notes")
  static let clip = CredentialOwner(clip: "org.example.notes.clip", of: app.app)!

  let storage = FaultyCredentials()
  var asApp: CredentialService<FaultyCredentials> { service(CredentialPrincipal(owner: Self.app, clip: Self.clip)) }
  var asClip: CredentialService<FaultyCredentials> { service(CredentialPrincipal(owner: Self.clip)) }
  var asOther: CredentialService<FaultyCredentials> {
    service(CredentialPrincipal(owner: CredentialOwner(app: "org.example.other")))
  }

  func service(_ principal: CredentialPrincipal) -> CredentialService<FaultyCredentials> {
    CredentialService(for: principal, storage: storage)
  }
}

/// A storage in which an owner's items can be damaged.
private struct FaultyCredentials: CredentialStorage {
  let memory = MemoryCredentials()
  let damaged: CredentialOwner?

  init(damaged: CredentialOwner? = nil) { self.damaged = damaged }

  func locked<Result>(
    _ body: () throws(CredentialStatus) -> Result
  ) throws(CredentialStatus) -> Result { try memory.locked(body) }

  func items(of owner: CredentialOwner) throws(CredentialStatus) -> [StoredCredential] {
    if owner == damaged { throw .decode }
    return memory.items(of: owner)
  }
  func add(_ item: CredentialItem, to owner: CredentialOwner) { memory.add(item, to: owner) }
  func replace(_ name: String, of owner: CredentialOwner, with item: CredentialItem) {
    memory.replace(name, of: owner, with: item)
  }
  func remove(_ name: String, of owner: CredentialOwner) { memory.remove(name, of: owner) }
  func account(_ user: String, of owner: CredentialOwner) -> AccountState? { memory.account(user, of: owner) }
}

extension CredentialService {
  fileprivate func ask(_ request: CredentialRequest, at seconds: Int64 = 1) -> [CredentialReply] {
    answer(request.encoded, now: Timestamp(seconds: seconds, nanoseconds: 1_234_567)).compactMap {
      try? CredentialReply($0)
    }
  }

  fileprivate func add(_ attributes: Attributes, _ data: [UInt8] = [1], at seconds: Int64 = 1) -> CredentialStatus? {
    ask(.add(.genericPassword, attributes, data: data, group: nil, returning: []), at: seconds).status
  }

  fileprivate func copy(
    _ attributes: Attributes = [:], limit: UInt32 = .max, group: String? = nil
  ) -> [[UInt8]] {
    ask(.copy(CredentialQuery(.genericPassword, attributes, group: group), limit: limit, returning: .all)).items.map(
      \.data)
  }
}

extension [CredentialReply] {
  fileprivate var status: CredentialStatus? {
    if case .ended(let status) = last { status } else { nil }
  }
  fileprivate var items: [CredentialItem] {
    compactMap { if case .item(let item, _) = $0 { item } else { nil } }
  }
}

@Suite struct CredentialServiceTests {
  private let place = Place()
  private let ann: Attributes = [.account: .text("ann"), .label: .text("one")]

  @Test func `a found item equals the added item, and names its owner`() throws {
    expect(place.asApp.add(ann, [1, 2], at: 7), is: .success)
    let replies = place.asApp.ask(.copy(CredentialQuery(.genericPassword, ann), limit: 1, returning: .all))
    let time = Timestamp(seconds: 7, nanoseconds: 1_000_000)
    let item = CredentialItem(.genericPassword, ann, data: [1, 2], created: time, modified: time)
    expect(replies, is: [.item(item, group: "org.example.notes"), .ended(.success)])
    let dated = CredentialQuery(.genericPassword, created: time, modified: time)
    expect(place.asApp.ask(.copy(dated, limit: 1, returning: [])), is: [.ended(.success)])
  }

  @Test func `an answer has the secret only if the request asks for it`() {
    expect(place.asApp.add(ann), is: .success)
    let query = CredentialQuery(.genericPassword)
    expect(place.asApp.ask(.copy(query, limit: 1, returning: .attributes)).items.map(\.data), is: [[]])
    expect(place.asApp.ask(.copy(query, limit: 1, returning: .data)).items.map(\.data), is: [[1]])
    let added = place.asApp.ask(.add(.key, [:], data: [3], group: nil, returning: .all))
    expect(added.items.map(\.data), is: [[3]])
    expect(added.status, is: .success)
  }

  @Test func `account and service identify a password, a label does not`() {
    expect(place.asApp.add(ann), is: .success)
    expect(place.asApp.add([.account: .text("ann"), .label: .text("two")]), is: .duplicateItem)
    expect(place.asApp.add([.account: .text("ann"), .service: .text("s")]), is: .success)
    expect(place.asApp.add([.account: .text("ann"), .service: .text("")]), is: .duplicateItem)
    expect(place.asApp.add([.service: .text("s")]), is: .success)
    expect(place.asApp.copy().count, is: 3)
  }

  @Test func `an application label identifies a key, or otherwise a tag`() {
    func add(_ attributes: Attributes) -> CredentialStatus? {
      place.asApp.ask(.add(.key, attributes, data: [1], group: nil, returning: [])).status
    }
    expect(add([.applicationLabel: .text("a"), .applicationTag: .data([1])]), is: .success)
    expect(add([.applicationLabel: .text("a"), .applicationTag: .data([2])]), is: .duplicateItem)
    expect(add([.applicationTag: .data([1])]), is: .success)
    expect(add([.applicationTag: .data([2])]), is: .success)
    expect(add([.applicationTag: .data([2]), .label: .text("x")]), is: .duplicateItem)
    expect(place.asApp.add([:]), is: .success, "a password is not a duplicate of a key")
  }

  @Test func `an app reads its own items and then its clip's, and a clip reads only its own`() {
    expect(place.asClip.add(ann, [2], at: 1), is: .success)
    expect(place.asApp.add(ann, [1], at: 9), is: .success)
    expect(place.asApp.copy(ann), is: [[1], [2]])
    expect(place.asApp.copy(ann, limit: 1), is: [[1]])
    expect(place.asClip.copy(), is: [[2]])
    expect(place.asOther.copy(), is: [])
    expect(
      place.asOther.ask(.copy(CredentialQuery(.genericPassword), limit: 1, returning: [])).status, is: .itemNotFound)
  }

  @Test func `only the app that names a clip finds the clip's items`() {
    expect(place.asClip.add(ann), is: .success)
    expect(place.service(CredentialPrincipal(owner: Place.app)).copy(), is: [])
    let same = CredentialOwner(clip: Place.clip.identifier, of: "org.example")!
    expect(place.service(CredentialPrincipal(owner: same)).copy(), is: [])
    let parent = CredentialPrincipal(owner: CredentialOwner(app: "org.example"), clip: same)
    expect(place.service(parent).copy(), is: [])
  }

  @Test func `older items come first`() {
    for (index, name) in ["c", "a", "b"].enumerated() {
      expect(place.asApp.add([.account: .text(name)], [UInt8(index)], at: Int64(9 - index)), is: .success)
    }
    expect(place.asApp.copy(), is: [[2], [1], [0]])
    expect(place.asApp.copy(limit: 2), is: [[2], [1]])
  }

  @Test func `an update changes only the app's own items`() {
    expect(place.asClip.add(ann, [2]), is: .success)
    let change = CredentialRequest.update(
      CredentialQuery(.genericPassword, ann), CredentialChanges([.comment: .text("new")], data: [3]))
    expect(place.asApp.ask(change).status, is: .itemNotFound)
    expect(place.asApp.add(ann, [1], at: 1), is: .success)
    expect(place.asApp.ask(change, at: 5).status, is: .success)
    expect(place.asApp.copy(), is: [[3], [2]])
    let item = place.asApp.ask(.copy(CredentialQuery(.genericPassword, ann), limit: 1, returning: .all)).items.first
    expect(item?.attributes, is: ann.merging([.comment: .text("new")]) { $1 })
    expect(item?.created.seconds, is: 1)
    expect(item?.modified.seconds, is: 5)
  }

  @Test func `an update that would give two items one identity changes nothing`() {
    expect(place.asApp.add([.account: .text("a")], [1]), is: .success)
    expect(place.asApp.add([.account: .text("b")], [2]), is: .success)
    let all = CredentialQuery(.genericPassword)
    expect(
      place.asApp.ask(.update(all, CredentialChanges([.account: .text("c")], data: [3]))).status, is: .duplicateItem)
    expect(place.asApp.copy(), is: [[1], [2]])
    expect(place.asApp.ask(.update(all, CredentialChanges([.label: .text("x")]))).status, is: .success)
  }

  @Test func `a deletion removes all matching items, including the clip's`() {
    expect(place.asClip.add(ann), is: .success)
    expect(place.asApp.add(ann), is: .success)
    expect(place.asApp.add([.account: .text("bob")], [5]), is: .success)
    expect(place.asOther.add(ann), is: .success)
    let request = CredentialRequest.delete(CredentialQuery(.genericPassword, [.label: .text("one")]))
    expect(place.asApp.ask(request).status, is: .success)
    expect(place.asApp.copy(), is: [[5]])
    expect(place.asClip.copy(), is: [])
    expect(place.asOther.copy(), is: [[1]])
    expect(place.asApp.ask(request).status, is: .itemNotFound)
  }

  @Test func `a clip deletes none of its app's items`() {
    expect(place.asApp.add(ann), is: .success)
    expect(place.asClip.ask(.delete(CredentialQuery(.genericPassword))).status, is: .itemNotFound)
    expect(place.asApp.copy(), is: [[1]])
  }

  @Test func `a group is the program's own or its clip's, never another program's`() {
    let clip = Place.clip.identifier
    expect(place.asClip.add(ann, [2]), is: .success)
    expect(place.asApp.add(ann, [1]), is: .success)
    expect(place.asApp.copy(group: Place.app.identifier), is: [[1]])
    expect(place.asApp.copy(group: clip), is: [[2]])
    func status(_ service: CredentialService<FaultyCredentials>, _ request: CredentialRequest) -> CredentialStatus? {
      service.ask(request).status
    }
    let own = CredentialQuery(.genericPassword, group: Place.app.identifier)
    let clips = CredentialQuery(.genericPassword, group: clip)
    let other = CredentialQuery(.genericPassword, group: "org.example.other")
    expect(status(place.asApp, .copy(other, limit: 1, returning: [])), is: .missingEntitlement)
    expect(status(place.asClip, .copy(own, limit: 1, returning: [])), is: .missingEntitlement)
    expect(status(place.asApp, .delete(other)), is: .missingEntitlement)
    expect(status(place.asApp, .update(other, CredentialChanges(data: []))), is: .missingEntitlement)
    expect(status(place.asApp, .update(clips, CredentialChanges(data: []))), is: .itemNotFound)
    expect(status(place.asApp, .update(own, CredentialChanges(data: [1], group: clip))), is: .missingEntitlement)
    expect(status(place.asApp, .update(own, CredentialChanges(data: [1], group: own.group))), is: .success)
    expect(status(place.asApp, .add(.key, [:], data: [], group: clip, returning: [])), is: .missingEntitlement)
    expect(status(place.asApp, .add(.key, [:], data: [], group: own.group, returning: [])), is: .success)
    expect(status(place.asApp, .delete(clips)), is: .success)
    expect(place.asApp.copy(), is: [[1]])
  }

  @Test func `an owner has at most the maximum number of items`() {
    for number in 0..<CredentialLimits.items {
      place.storage.add(
        CredentialItem(
          .genericPassword, [.account: .text("\(number)")], data: [], created: Timestamp(seconds: 0),
          modified: Timestamp(seconds: 0)), to: Place.app)
    }
    expect(place.asApp.add(ann), is: .dataTooLarge)
    expect(place.asClip.add(ann), is: .success)
  }

  @Test func `an update does not change an item that it would make too large`() {
    let half: CredentialItem.Value = .text(String(repeating: "x", count: CredentialLimits.attributes / 2))
    expect(place.asApp.add([.label: half]), is: .success)
    let query = CredentialQuery(.genericPassword)
    expect(
      place.asApp.ask(.update(query, CredentialChanges([.comment: half], data: [9]))).status, is: .dataTooLarge)
    expect(place.asApp.copy(), is: [[1]])
  }

  @Test func `bytes that are not a request change nothing`() {
    expect(place.asApp.add(ann), is: .success)
    let delete = CredentialRequest.delete(CredentialQuery(.genericPassword)).encoded
    for bytes in [[], [9], Array(delete.dropLast()), delete + [200, 1, 0], delete + [11, 0]] {
      expect(place.asApp.answer(bytes, now: .init(seconds: 1)), is: [CredentialReply.ended(.parameter).encoded])
    }
    expect(place.asApp.copy(), is: [[1]])
  }

  @Test func `requests that have to read a damaged item fail, and change nothing`() {
    let storage = FaultyCredentials(damaged: Place.clip)
    let app = CredentialService(for: CredentialPrincipal(owner: Place.app, clip: Place.clip), storage: storage)
    let query = CredentialQuery(.genericPassword)
    expect(app.add(ann), is: .success)
    expect(app.ask(.delete(query)).status, is: .decode)
    expect(app.ask(.copy(query, limit: 2, returning: [])).status, is: .decode)
    expect(app.ask(.copy(query, limit: 1, returning: [])).status, is: .success, "its own item is enough")
    expect(app.ask(.update(query, CredentialChanges(data: [2]))).status, is: .success)
    expect(storage.memory.items(of: Place.app).count, is: 1)
    let clip = CredentialService(for: CredentialPrincipal(owner: Place.clip), storage: storage)
    expect(clip.add(ann), is: .decode)
  }

  @Test func `the app's own record of a user counts before its clip's, and a clip sees its own`() {
    let (memory, request) = (place.storage.memory, CredentialRequest.account(user: "u"))
    expect(place.asApp.ask(request), is: [.account(nil)])
    memory.record(.authorized, of: "u", for: Place.clip)
    expect(place.asApp.ask(request), is: [.account(.authorized)])
    memory.record(.revoked, of: "u", for: Place.app)
    expect(place.asApp.ask(request), is: [.account(.revoked)])
    expect(place.asClip.ask(request), is: [.account(.authorized)])
    expect(place.asOther.ask(request), is: [.account(nil)])
    expect(place.asApp.ask(.account(user: "v")), is: [.account(nil)])
  }
}
