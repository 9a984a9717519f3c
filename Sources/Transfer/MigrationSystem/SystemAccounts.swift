import Glibc

/// The users and groups of this system. Its list of them may be on a server.
package enum SystemAccounts {
  /// The name of a user.
  package static func name(ofUser id: UInt32) -> [UInt8]? {
    unsafe find(passwd(), by: { unsafe getpwuid_r(id, $0, $1, $2, $3) }, { unsafe bytes($0.pw_name) })
  }

  /// The name of a group.
  package static func name(ofGroup id: UInt32) -> [UInt8]? {
    unsafe find(Glibc.group(), by: { unsafe getgrgid_r(id, $0, $1, $2, $3) }, { unsafe bytes($0.gr_name) })
  }

  /// The number of a user.
  package static func user(named name: [UInt8]) -> UInt32? {
    let name = name.map { CChar(bitPattern: $0) } + [0]
    return unsafe find(passwd(), by: { unsafe getpwnam_r(name, $0, $1, $2, $3) }, { unsafe $0.pw_uid })
  }

  /// The number of a group.
  package static func group(named name: [UInt8]) -> UInt32? {
    let name = name.map { CChar(bitPattern: $0) } + [0]
    return unsafe find(Glibc.group(), by: { unsafe getgrnam_r(name, $0, $1, $2, $3) }, { unsafe $0.gr_gid })
  }

  /// The members of a group, also those whose own group it is, as far as the system lists them; nil
  /// if there is no such group, or it names a user that does not exist.
  package static func members(ofGroup id: UInt32) -> Set<UInt32>? {
    let names = unsafe find(
      Glibc.group(), by: { unsafe getgrgid_r(id, $0, $1, $2, $3) }, { unsafe texts($0.gr_mem) })
    guard let names else { return nil }
    let named = names.compactMap { user(named: $0) }
    return named.count == names.count ? (usersByOwnGroup[id] ?? []).union(named) : nil
  }

  /// The users by the groups in which they begin. It is read once, since the C library has one place in
  /// the list for all threads.
  private static let usersByOwnGroup: [UInt32: Set<UInt32>] = {
    var users: [UInt32: Set<UInt32>] = [:]
    setpwent()
    while let user = unsafe getpwent() {
      unsafe users[user.pointee.pw_gid, default: []].insert(user.pointee.pw_uid)
    }
    endpwent()
    return users
  }()

  /// The bytes that an entry may need: a group may have many members.
  private static let sizes = [1 << 10, 1 << 14, 1 << 18, 1 << 22]

  /// Looks an entry up, with growing memory, and takes a value of it.
  private static func find<Entry, Value>(
    _ empty: Entry,
    by look: (
      UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int, UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
    ) -> CInt, _ value: (Entry) -> Value?
  ) -> Value? {
    for size in sizes {
      let memory = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { unsafe memory.deallocate() }
      var entry = empty
      var found: UnsafeMutablePointer<Entry>?
      var code: CInt
      repeat { code = unsafe look(&entry, memory, size, &found) } while code == EINTR
      if code == ERANGE { continue }
      return unsafe found == nil ? nil : value(entry)
    }
    return nil
  }

  private static func texts(_ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> [[UInt8]] {
    var (texts, next): ([[UInt8]], _) = ([], unsafe list)
    while let text = unsafe bytes(next?.pointee) {
      texts.append(text)
      unsafe next = next?.advanced(by: 1)
    }
    return texts
  }

  private static func bytes(_ text: UnsafeMutablePointer<CChar>?) -> [UInt8]? {
    guard let text = unsafe text else { return nil }
    return unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }
}
