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
    _ body: () throws(CredentialStorageError) -> Result
  ) throws(CredentialStorageError) -> Result { try memory.locked(body) }

  func items(of owner: CredentialOwner) throws(CredentialStorageError) -> [StoredCredential] {
    if owner == damaged { throw .damaged }
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
    #expect(place.asApp.add(ann, [1, 2], at: 7) == .success)
    let replies = place.asApp.ask(.copy(CredentialQuery(.genericPassword, ann), limit: 1, returning: .all))
    let time = Timestamp(seconds: 7, nanoseconds: 1_000_000)
    let item = CredentialItem(.genericPassword, ann, data: [1, 2], created: time, modified: time)
    #expect(replies == [.item(item, group: "org.example.notes"), .ended(.success)])
    let dated = CredentialQuery(.genericPassword, created: time, modified: time)
    #expect(place.asApp.ask(.copy(dated, limit: 1, returning: [])) == [.ended(.success)])
  }

  @Test func `an answer has the secret only if the request asks for it`() {
    #expect(place.asApp.add(ann) == .success)
    let query = CredentialQuery(.genericPassword)
    #expect(place.asApp.ask(.copy(query, limit: 1, returning: .attributes)).items.map(\.data) == [[]])
    #expect(place.asApp.ask(.copy(query, limit: 1, returning: .data)).items.map(\.data) == [[1]])
    let added = place.asApp.ask(.add(.key, [:], data: [3], group: nil, returning: .all))
    #expect(added.items.map(\.data) == [[3]])
    #expect(added.status == .success)
  }

  @Test func `account and service identify a password, a label does not`() {
    #expect(place.asApp.add(ann) == .success)
    #expect(place.asApp.add([.account: .text("ann"), .label: .text("two")]) == .duplicateItem)
    #expect(place.asApp.add([.account: .text("ann"), .service: .text("s")]) == .success)
    #expect(place.asApp.add([.account: .text("ann"), .service: .text("")]) == .duplicateItem)
    #expect(place.asApp.add([.service: .text("s")]) == .success)
    #expect(place.asApp.copy().count == 3)
  }

  @Test func `an application label identifies a key, or otherwise a tag`() {
    func add(_ attributes: Attributes) -> CredentialStatus? {
      place.asApp.ask(.add(.key, attributes, data: [1], group: nil, returning: [])).status
    }
    #expect(add([.applicationLabel: .text("a"), .applicationTag: .data([1])]) == .success)
    #expect(add([.applicationLabel: .text("a"), .applicationTag: .data([2])]) == .duplicateItem)
    #expect(add([.applicationTag: .data([1])]) == .success)
    #expect(add([.applicationTag: .data([2])]) == .success)
    #expect(add([.applicationTag: .data([2]), .label: .text("x")]) == .duplicateItem)
    #expect(place.asApp.add([:]) == .success, "a password is not a duplicate of a key")
  }

  @Test func `an app reads its own items and then its clip's, and a clip reads only its own`() {
    #expect(place.asClip.add(ann, [2], at: 1) == .success)
    #expect(place.asApp.add(ann, [1], at: 9) == .success)
    #expect(place.asApp.copy(ann) == [[1], [2]])
    #expect(place.asApp.copy(ann, limit: 1) == [[1]])
    #expect(place.asClip.copy() == [[2]])
    #expect(place.asOther.copy() == [])
    #expect(
      place.asOther.ask(.copy(CredentialQuery(.genericPassword), limit: 1, returning: [])).status == .itemNotFound)
  }

  @Test func `only the app that names a clip finds the clip's items`() {
    #expect(place.asClip.add(ann) == .success)
    #expect(place.service(CredentialPrincipal(owner: Place.app)).copy() == [])
    let same = CredentialOwner(clip: Place.clip.identifier, of: "org.example")!
    #expect(place.service(CredentialPrincipal(owner: same)).copy() == [])
    let parent = CredentialPrincipal(owner: CredentialOwner(app: "org.example"), clip: same)
    #expect(place.service(parent).copy() == [])
  }

  @Test func `older items come first`() {
    for (index, name) in ["c", "a", "b"].enumerated() {
      #expect(place.asApp.add([.account: .text(name)], [UInt8(index)], at: Int64(9 - index)) == .success)
    }
    #expect(place.asApp.copy() == [[2], [1], [0]])
    #expect(place.asApp.copy(limit: 2) == [[2], [1]])
  }

  @Test func `an update changes only the app's own items`() {
    #expect(place.asClip.add(ann, [2]) == .success)
    let change = CredentialRequest.update(
      CredentialQuery(.genericPassword, ann), CredentialChanges([.comment: .text("new")], data: [3]))
    #expect(place.asApp.ask(change).status == .itemNotFound)
    #expect(place.asApp.add(ann, [1], at: 1) == .success)
    #expect(place.asApp.ask(change, at: 5).status == .success)
    #expect(place.asApp.copy() == [[3], [2]])
    let item = place.asApp.ask(.copy(CredentialQuery(.genericPassword, ann), limit: 1, returning: .all)).items.first
    #expect(item?.attributes == ann.merging([.comment: .text("new")]) { $1 })
    #expect(item?.created.seconds == 1)
    #expect(item?.modified.seconds == 5)
  }

  @Test func `an update that would give two items one identity changes nothing`() {
    #expect(place.asApp.add([.account: .text("a")], [1]) == .success)
    #expect(place.asApp.add([.account: .text("b")], [2]) == .success)
    let all = CredentialQuery(.genericPassword)
    #expect(
      place.asApp.ask(.update(all, CredentialChanges([.account: .text("c")], data: [3]))).status == .duplicateItem)
    #expect(place.asApp.copy() == [[1], [2]])
    #expect(place.asApp.ask(.update(all, CredentialChanges([.label: .text("x")]))).status == .success)
  }

  @Test func `a deletion removes all matching items, including the clip's`() {
    #expect(place.asClip.add(ann) == .success)
    #expect(place.asApp.add(ann) == .success)
    #expect(place.asApp.add([.account: .text("bob")], [5]) == .success)
    #expect(place.asOther.add(ann) == .success)
    let request = CredentialRequest.delete(CredentialQuery(.genericPassword, [.label: .text("one")]))
    #expect(place.asApp.ask(request).status == .success)
    #expect(place.asApp.copy() == [[5]])
    #expect(place.asClip.copy() == [])
    #expect(place.asOther.copy() == [[1]])
    #expect(place.asApp.ask(request).status == .itemNotFound)
  }

  @Test func `a clip deletes none of its app's items`() {
    #expect(place.asApp.add(ann) == .success)
    #expect(place.asClip.ask(.delete(CredentialQuery(.genericPassword))).status == .itemNotFound)
    #expect(place.asApp.copy() == [[1]])
  }

  @Test func `a group is the program's own or its clip's, never another program's`() {
    let clip = Place.clip.identifier
    #expect(place.asClip.add(ann, [2]) == .success)
    #expect(place.asApp.add(ann, [1]) == .success)
    #expect(place.asApp.copy(group: Place.app.identifier) == [[1]])
    #expect(place.asApp.copy(group: clip) == [[2]])
    func status(_ service: CredentialService<FaultyCredentials>, _ request: CredentialRequest) -> CredentialStatus? {
      service.ask(request).status
    }
    let own = CredentialQuery(.genericPassword, group: Place.app.identifier)
    let clips = CredentialQuery(.genericPassword, group: clip)
    let other = CredentialQuery(.genericPassword, group: "org.example.other")
    #expect(status(place.asApp, .copy(other, limit: 1, returning: [])) == .missingEntitlement)
    #expect(status(place.asClip, .copy(own, limit: 1, returning: [])) == .missingEntitlement)
    #expect(status(place.asApp, .delete(other)) == .missingEntitlement)
    #expect(status(place.asApp, .update(other, CredentialChanges(data: []))) == .missingEntitlement)
    #expect(status(place.asApp, .update(clips, CredentialChanges(data: []))) == .itemNotFound)
    #expect(status(place.asApp, .update(own, CredentialChanges(data: [1], group: clip))) == .missingEntitlement)
    #expect(status(place.asApp, .update(own, CredentialChanges(data: [1], group: own.group))) == .success)
    #expect(status(place.asApp, .add(.key, [:], data: [], group: clip, returning: [])) == .missingEntitlement)
    #expect(status(place.asApp, .add(.key, [:], data: [], group: own.group, returning: [])) == .success)
    #expect(status(place.asApp, .delete(clips)) == .success)
    #expect(place.asApp.copy() == [[1]])
  }

  @Test func `an owner has at most the maximum number of items`() {
    for number in 0..<CredentialLimits.items {
      place.storage.add(
        CredentialItem(
          .genericPassword, [.account: .text("\(number)")], data: [], created: Timestamp(seconds: 0),
          modified: Timestamp(seconds: 0)), to: Place.app)
    }
    #expect(place.asApp.add(ann) == .dataTooLarge)
    #expect(place.asClip.add(ann) == .success)
  }

  @Test func `an update does not change an item that it would make too large`() {
    let half: CredentialItem.Value = .text(String(repeating: "x", count: CredentialLimits.attributes / 2))
    #expect(place.asApp.add([.label: half]) == .success)
    let query = CredentialQuery(.genericPassword)
    #expect(
      place.asApp.ask(.update(query, CredentialChanges([.comment: half], data: [9]))).status == .dataTooLarge)
    #expect(place.asApp.copy() == [[1]])
  }

  @Test func `bytes that are not a request change nothing`() {
    #expect(place.asApp.add(ann) == .success)
    let delete = CredentialRequest.delete(CredentialQuery(.genericPassword)).encoded
    for bytes in [[], [9], Array(delete.dropLast()), delete + [200, 1, 0], delete + [11, 0]] {
      #expect(place.asApp.answer(bytes, now: .init(seconds: 1)) == [CredentialReply.ended(.parameter).encoded])
    }
    #expect(place.asApp.copy() == [[1]])
  }

  @Test func `requests that have to read a damaged item fail, and change nothing`() {
    let storage = FaultyCredentials(damaged: Place.clip)
    let app = CredentialService(for: CredentialPrincipal(owner: Place.app, clip: Place.clip), storage: storage)
    let query = CredentialQuery(.genericPassword)
    #expect(app.add(ann) == .success)
    #expect(app.ask(.delete(query)).status == .decode)
    #expect(app.ask(.copy(query, limit: 2, returning: [])).status == .decode)
    #expect(app.ask(.copy(query, limit: 1, returning: [])).status == .success, "its own item is enough")
    #expect(app.ask(.update(query, CredentialChanges(data: [2]))).status == .success)
    #expect(storage.memory.items(of: Place.app).count == 1)
    let clip = CredentialService(for: CredentialPrincipal(owner: Place.clip), storage: storage)
    #expect(clip.add(ann) == .decode)
  }

  @Test func `the app's own record of a user counts before its clip's, and a clip sees its own`() {
    let (memory, request) = (place.storage.memory, CredentialRequest.account(user: "u"))
    #expect(place.asApp.ask(request) == [.account(nil)])
    memory.record(.authorized, of: "u", for: Place.clip)
    #expect(place.asApp.ask(request) == [.account(.authorized)])
    memory.record(.revoked, of: "u", for: Place.app)
    #expect(place.asApp.ask(request) == [.account(.revoked)])
    #expect(place.asClip.ask(request) == [.account(.authorized)])
    #expect(place.asOther.ask(request) == [.account(nil)])
    #expect(place.asApp.ask(.account(user: "v")) == [.account(nil)])
  }
}
