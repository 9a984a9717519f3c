import CSystem
import Glibc

extension Descriptor {
  /// The names of all visible extended attributes; none if the file system has no attributes.
  package func attributeNames() throws(SystemError) -> [[UInt8]] {
    try unsafe Self.attributeNames { names, size in unsafe csystem_list_attributes(raw, names, size) }
  }

  fileprivate static func attributeNames(
    _ list: (UnsafeMutablePointer<CChar>?, Int) -> Int
  ) throws(SystemError) -> [[UInt8]] {
    // Usually there are none, and the first call shows it.
    let listed = try unsafe growing("list the extended attributes") { buffer in
      unsafe list(buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    guard let listed, !listed.isEmpty else { return [] }
    return listed.split(separator: 0).map(Array.init)
  }

  /// The value of an extended attribute; nil if there is no attribute with that name.
  package func attribute(_ name: [UInt8]) throws(SystemError) -> [UInt8]? {
    try unsafe name.withCString(for: "read an extended attribute") { (name) throws(SystemError) in
      let name = unsafe UnsafePointer(name.baseAddress!)
      return try unsafe Self.growing("read an extended attribute") { buffer in
        unsafe csystem_get_attribute(raw, name, buffer.baseAddress, buffer.count)
      }
    }
  }

  /// Sets an extended attribute, new or existing.
  package func setAttribute(_ name: [UInt8], _ value: [UInt8]) throws(SystemError) {
    try unsafe name.withCString(for: "set an extended attribute") { (name) throws(SystemError) in
      try perform("set an extended attribute") {
        unsafe value.withUnsafeBytes { unsafe csystem_set_attribute(raw, name.baseAddress, $0.baseAddress, $0.count) }
      }
    }
  }

  /// Removes an extended attribute; a missing attribute is fine.
  package func removeAttribute(_ name: [UInt8]) throws(SystemError) {
    do {
      try unsafe name.withCString(for: "remove an extended attribute") { (name) throws(SystemError) in
        try perform("remove an extended attribute") { unsafe csystem_remove_attribute(raw, name.baseAddress) }
      }
    } catch let error where error.errno == ENODATA {
      // There is no such attribute, as required.
    }
  }

  /// Sets owner and group. This clears set-id bits. Fails if the file system keeps another owner.
  package func setOwner(user: UInt32, group: UInt32) throws(SystemError) {
    try perform("set the owner") { fchown(raw, user, group) }
    try status().checkOwner(user, group)
  }

  /// The result of a call that fails with ERANGE while the buffer is too small; nil if there is no
  /// such attribute, or the file system has none.
  private static func growing(
    _ operation: String, _ body: (UnsafeMutableRawBufferPointer) -> Int
  ) throws(SystemError) -> [UInt8]? {
    // Memory of this size is on the stack.
    var size = 1_024
    while true {
      do {
        return try unsafe withStackMemory(byteCount: size) { (buffer) throws(SystemError) -> [UInt8] in
          let count = try calling(operation) { unsafe body(buffer) }
          return unsafe count == 0 ? [] : [UInt8](buffer[..<count])
        }
      } catch let error where error.errno == ERANGE && size < largestAttribute {
        size = min(size * 8, largestAttribute)
      } catch let error where error.errno == ENODATA || error.isUnsupported {
        return nil
      }
    }
  }

  /// The kernel's limit for one value, and for all names of a file.
  private static var largestAttribute: Int { 65_536 }
}

extension Directory {
  /// The names of an item's extended attributes, without opening it; for a symbolic link, the
  /// link's own.
  package func attributeNames(of name: some PathBytes & ~Escapable) throws(SystemError) -> [[UInt8]] {
    try unsafe name.withCString(for: "list the extended attributes of") { (name) throws(SystemError) in
      let name = name.baseAddress!
      return try unsafe Descriptor.attributeNames { names, size in
        unsafe csystem_list_attributes_at(raw, name, names, size)
      }
    }
  }

  /// Sets owner and group of a name; for a symbolic link, of the link itself. Fails if the file
  /// system keeps another owner.
  package func setOwner(_ name: some PathBytes & ~Escapable, user: UInt32, group: UInt32) throws(SystemError) {
    try unsafe name.callingName("set the owner of") { unsafe fchownat(raw, $0, user, group, AT_SYMLINK_NOFOLLOW) }
    try status(name).checkOwner(user, group)
  }
}

extension FileStatus {
  /// Fails unless this is the owner. Some file systems accept every owner and keep their own, and
  /// the number −1 changes nothing.
  fileprivate func checkOwner(_ user: UInt32, _ group: UInt32) throws(SystemError) {
    guard (owner, self.group) == (user, group) else {
      throw SystemError(reason: "the file system keeps another owner", operation: "set the owner")
    }
  }
}

/// The calls of a confined process that change metadata of files: the kernel holds them back,
/// and this process makes those that concern some directories.
struct AttributeCalls: ~Copyable, Sendable {
  private let listener: Descriptor
  private let directories: [SharedDescriptor]

  init(_ listener: consuming Descriptor, in directories: [SharedDescriptor]) {
    self.listener = listener
    self.directories = directories
  }

  /// The descriptor that becomes readable when a call waits.
  var raw: CInt { listener.raw }

  /// Makes the waiting call if it concerns the directories or items below them, and answers with
  /// its result, otherwise with a refusal. A process that has ended meanwhile needs no answer.
  func answer() {
    let numbers = directories.map(\.raw)
    _ = unsafe csystem_answer(listener.raw, numbers, numbers.count)
  }

  /// The directories among the places of some rules; a rule can also be about a single file.
  static func directories(of rules: [Confinement.Rule]) throws(SystemError) -> [SharedDescriptor] {
    var found: [SharedDescriptor] = []
    for rule in rules {
      do throws(SystemError) {
        let raw = try calling("open", rule.path.escapedText) {
          unsafe open(rule.path, csystem_open_path | O_DIRECTORY | O_CLOEXEC)
        }
        found.append(SharedDescriptor(Descriptor(owning: raw)))
      } catch  where error.errno == ENOTDIR || (rule.isOptional && error.isNotFound) {
        continue
      }
    }
    return found
  }
}
