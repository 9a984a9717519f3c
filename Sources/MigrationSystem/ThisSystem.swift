import Glibc

/// The description of the machine in an error report, without names, paths and addresses.
package enum SystemDescription {
  /// The name and version of the distribution, as its own file has them.
  package static var distribution: String? {
    text("/etc/os-release").flatMap { value(of: "PRETTY_NAME", in: $0) }
  }

  /// The release of the kernel.
  package static var kernel: String? {
    text("/proc/sys/kernel/osrelease").map { String($0.prefix { !$0.isNewline }) }
  }

  /// The processors for which this program was built.
  package static var architecture: String {
    #if arch(x86_64)
      "x86_64"
    #elseif arch(arm64)
      "aarch64"
    #else
      "unknown"
    #endif
  }

  /// The kernel's name of the file system that has a path, or would have it once it is made, such as
  /// "ext4"; nil if this user cannot see it.
  package static func fileSystem(of path: [UInt8]) -> String? {
    var nearest = path
    while nearest.count > 1, !FileContent.isDirectory(nearest) { nearest = FileContent.split(nearest).directory }
    guard let directory = try? Directory.open(nearest), let about = text("/proc/self/fdinfo/\(directory.raw)"),
      let mounts = text("/proc/self/mountinfo")
    else { return nil }
    return mount(about: about, in: mounts)?.type
  }

  /// The type and the source of the file system of an open file, by the kernel's records of the file
  /// and of all mounts.
  static func mount(about file: String, in mounts: String) -> (type: String, source: String)? {
    guard let mount = value(of: "mnt_id", in: file, separator: ":") else { return nil }
    for line in mounts.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.first.map(String.init) == mount, let end = words.firstIndex(of: "-"), end + 2 < words.count else {
        continue
      }
      return (String(words[end + 1]), String(words[end + 2]))
    }
    return nil
  }

  /// The identity of an open file's file system, which stays the same from mount to mount: its
  /// UUID, or the type and the source if no block device has it. Nil for a block device without a
  /// UUID, or if this process cannot see it.
  package static func lastingFileSystem(of file: borrowing Descriptor) -> String? {
    if let uuid = file.fileSystemUUID() { return "UUID \(uuid)" }
    guard let about = text("/proc/self/fdinfo/\(file.raw)"), let mounts = text("/proc/self/mountinfo"),
      let mount = mount(about: about, in: mounts)
    else { return nil }
    guard mount.source.hasPrefix("/dev/") else { return "\(mount.type) \(mount.source)" }
    return uuid(ofDevice: mount.source).map { "UUID \($0)" }
  }

  /// The UUID of the file system on a block device, as the device manager lists it.
  private static func uuid(ofDevice path: String) -> String? {
    guard let list = try? Directory.open(Array("/dev/disk/by-uuid".utf8)), let names = try? list.names() else {
      return nil
    }
    func last(_ path: [UInt8]) -> [UInt8] { FileContent.split(path).name }
    let (folder, name) = FileContent.split(Array(path.utf8))
    // A mapped device is a link to the one with its number.
    let device = (try? Directory.open(folder).readLink(name)).map(last) ?? name
    let found = names.first { name in (try? list.readLink(name)).map(last) == device }
    return found.map { String(decoding: $0, as: UTF8.self) }
  }

  /// The value of a name in lines of names and values; the value may have quotation marks.
  static func value(of name: String, in lines: String, separator: Character = "=") -> String? {
    for line in lines.split(separator: "\n") {
      guard let end = line.firstIndex(of: separator), line[..<end] == name else { continue }
      let value = line[line.index(after: end)...].drop { $0.isWhitespace }
      let marks: [Character] = ["\"", "'"]
      guard let mark = value.first, marks.contains(mark), value.count > 1, value.last == mark else {
        return String(value)
      }
      return String(value.dropFirst().dropLast())
    }
    return nil
  }

  /// A file of the system; nil if it is missing or strangely long.
  private static func text(_ path: String) -> String? {
    guard let file = try? Descriptor.openThroughLinks(Array(path.utf8)),
      let bytes = try? file.readToEnd(limit: 1 << 20)
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}

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
