package import MigrationSystem
import MigrationWire

/// Answers the requests of one program from a storage.
package struct CredentialService<Storage: CredentialStorage>: Sendable {
  let principal: CredentialPrincipal
  let storage: Storage

  package init(for principal: CredentialPrincipal, storage: Storage) {
    self.principal = principal
    self.storage = storage
  }

  /// Returns the messages that answer a request, in order; at least one. Bytes that are not a
  /// request get `CredentialStatus.parameter`, and change nothing.
  package func answer(_ request: [UInt8], now: Timestamp) -> [[UInt8]] {
    let decoded: CredentialRequest
    do {
      decoded = try CredentialRequest(request)
    } catch {
      return [CredentialReply.ended(error.code == .limit ? .dataTooLarge : .parameter).encoded]
    }
    do {
      return try replies(to: decoded, now: now.wholeMilliseconds).map(\.encoded)
    } catch {
      return [CredentialReply.ended(error).encoded]
    }
  }

  private func replies(
    to request: CredentialRequest, now: Timestamp
  ) throws(CredentialStatus) -> [CredentialReply] {
    switch request {
    case .add(let kind, let attributes, let data, let group, let returning):
      let item = CredentialItem(kind, attributes, data: data, created: now, modified: now)
      try add(item, group: group)
      return [found(item, of: principal.owner, returning)].compactMap(\.self) + [.ended(.success)]
    case .copy(let query, let limit, let returning): return try copy(query, limit: Int(limit), returning)
    case .update(let query, let changes):
      try update(query, changes, now: now)
      return [.ended(.success)]
    case .delete(let query):
      try delete(query)
      return [.ended(.success)]
    case .account(let user): return [.account(try account(user))]
    }
  }

  private func add(_ item: CredentialItem, group: String?) throws(CredentialStatus) {
    try check(group, isOf: [principal.owner])
    guard item.isWithinLimits else { throw .dataTooLarge }
    try storage.locked { () throws(CredentialStatus) in
      let items = try storage.items(of: principal.owner)
      if items.contains(where: { $0.item.identity == item.identity }) { throw .duplicateItem }
      guard items.count < CredentialLimits.items else { throw .dataTooLarge }
      try storage.add(item, to: principal.owner)
    }
  }

  private func copy(
    _ query: CredentialQuery, limit: Int, _ returning: CredentialAspects
  ) throws(CredentialStatus) -> [CredentialReply] {
    let owners = try owners(of: query)
    var replies: [CredentialReply] = []
    try storage.locked { () throws(CredentialStatus) in
      var count = 0
      for owner in owners where count < limit {
        let matching = try matching(query, of: owner).prefix(limit - count)
        count += matching.count
        replies += matching.compactMap { found($0.item, of: owner, returning) }
      }
      if count == 0 { throw .itemNotFound }
    }
    return replies + [.ended(.success)]
  }

  private func update(
    _ query: CredentialQuery, _ changes: CredentialChanges, now: Timestamp
  ) throws(CredentialStatus) {
    let own = principal.owner
    try check(changes.group, isOf: [own])
    guard try owners(of: query).contains(own) else { throw .itemNotFound }
    try storage.locked { () throws(CredentialStatus) in
      var changed: [StoredCredential] = []
      var identities: Set<CredentialItem.Identity> = []
      for stored in try storage.items(of: own) {
        let isMeant = query.matches(stored.item)
        let item = isMeant ? stored.item.changed(by: changes, now: now) : stored.item
        guard identities.insert(item.identity).inserted else { throw .duplicateItem }
        guard isMeant else { continue }
        guard item.isWithinLimits else { throw .dataTooLarge }
        changed.append(StoredCredential(name: stored.name, item: item))
      }
      for stored in changed { try storage.replace(stored.name, of: own, with: stored.item) }
      if changed.isEmpty { throw .itemNotFound }
    }
  }

  private func delete(_ query: CredentialQuery) throws(CredentialStatus) {
    let owners = try owners(of: query)
    try storage.locked { () throws(CredentialStatus) in
      // All items are read before the first one is deleted: if one is damaged, all stay.
      var names: [(CredentialOwner, String)] = []
      for owner in owners { names += try matching(query, of: owner).map { (owner, $0.name) } }
      for (owner, name) in names { try storage.remove(name, of: owner) }
      if names.isEmpty { throw .itemNotFound }
    }
  }

  /// The owners whose items the program reads and deletes, in the order of results: its own, and its
  /// clip's.
  private var readableOwners: [CredentialOwner] { [principal.owner, principal.clip].compactMap(\.self) }

  /// Refuses a group, which is the identifier of an owner, that is none of some owners'. Without a group,
  /// all of them are meant.
  private func check(_ group: String?, isOf owners: [CredentialOwner]) throws(CredentialStatus) {
    guard let group else { return }
    guard owners.contains(where: { $0.identifier == group }) else { throw .missingEntitlement }
  }

  /// The owners that a query addresses, in the order of its results.
  private func owners(of query: CredentialQuery) throws(CredentialStatus) -> [CredentialOwner] {
    try check(query.group, isOf: readableOwners)
    return readableOwners.filter { query.group == nil || query.group == $0.identifier }
  }

  /// The app's own record counts first; its clip's authorization also holds for the app.
  private func account(_ user: String) throws(CredentialStatus) -> AccountState? {
    for owner in readableOwners {
      if let state = try storage.account(user, of: owner) { return state }
    }
    return nil
  }

  private func matching(
    _ query: CredentialQuery, of owner: CredentialOwner
  ) throws(CredentialStatus) -> [StoredCredential] {
    try storage.items(of: owner).filter { query.matches($0.item) }
      .sorted { ($0.item.created, $0.name) < ($1.item.created, $1.name) }
  }

  private func found(
    _ item: CredentialItem, of owner: CredentialOwner, _ returning: CredentialAspects
  ) -> CredentialReply? {
    guard !returning.isEmpty else { return nil }
    var item = item
    if !returning.contains(.data) { item.data = [] }
    return .item(item, group: owner.identifier)
  }
}

extension CredentialItem {
  fileprivate func changed(by changes: CredentialChanges, now: Timestamp) -> CredentialItem {
    var item = self
    item.attributes.merge(changes.attributes) { $1 }
    if let data = changes.data { item.data = data }
    item.modified = now
    return item
  }
}

extension Timestamp {
  /// Dates of items are whole milliseconds, so that a program finds an item again by the date that
  /// it has read.
  fileprivate var wholeMilliseconds: Timestamp {
    Timestamp(seconds: seconds, nanoseconds: nanoseconds / 1_000_000 * 1_000_000)
  }
}
