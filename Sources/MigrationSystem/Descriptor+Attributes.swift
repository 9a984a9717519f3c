import CSystem
import Glibc

extension Descriptor {
  /// The names of all extended attributes that may be seen; none where the file system has no such thing.
  package func attributeNames() throws(SystemError) -> [[UInt8]] {
    // Mostly there are none, and the first call says so.
    var names = [UInt8](repeating: 0, count: 1_024)
    let list = try unsafe growing(&names, "list the extended attributes") { buffer in
      unsafe csystem_list_attributes(raw, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    return list?.split(separator: 0).map(Array.init) ?? []
  }

  /// The value of an extended attribute; nil if there is none of that name.
  package func attribute(_ name: [UInt8]) throws(SystemError) -> [UInt8]? {
    var value = [UInt8](repeating: 0, count: 1_024)
    return try unsafe name.withCString(for: "read an extended attribute") { (name) throws(SystemError) in
      let name = unsafe UnsafePointer(name.baseAddress!)
      return try unsafe growing(&value, "read an extended attribute") { buffer in
        unsafe csystem_get_attribute(raw, name, buffer.baseAddress, buffer.count)
      }
    }
  }

  /// Sets an extended attribute, whether it was there before or not.
  package func setAttribute(_ name: [UInt8], _ value: [UInt8]) throws(SystemError) {
    try unsafe name.withCString(for: "set an extended attribute") { (name) throws(SystemError) in
      try perform("set an extended attribute") {
        unsafe value.withUnsafeBytes { unsafe csystem_set_attribute(raw, name.baseAddress, $0.baseAddress, $0.count) }
      }
    }
  }

  /// Removes an extended attribute; none of that name is fine.
  package func removeAttribute(_ name: [UInt8]) throws(SystemError) {
    do {
      try unsafe name.withCString(for: "remove an extended attribute") { (name) throws(SystemError) in
        try perform("remove an extended attribute") { unsafe csystem_remove_attribute(raw, name.baseAddress) }
      }
    } catch let error where error.errno == ENODATA {
      // As it should be.
    }
  }

  /// Sets owner and group. Set-id bits do not survive that.
  package func setOwner(user: UInt32, group: UInt32) throws(SystemError) {
    try perform("set the owner") { fchown(raw, user, group) }
  }

  /// What a call gives that says ERANGE while the buffer is too small; nil where there is no such attribute, or there are
  /// none at all.
  private func growing(
    _ bytes: inout [UInt8], _ operation: String, _ body: (UnsafeMutableRawBufferPointer) -> Int
  ) throws(SystemError) -> [UInt8]? {
    while true {
      do {
        let count = try calling(operation) { unsafe bytes.withUnsafeMutableBytes(body) }
        return Array(bytes[..<count])
      } catch let error where error.errno == ERANGE && bytes.count < Self.largestAttribute {
        bytes = [UInt8](repeating: 0, count: min(bytes.count * 8, Self.largestAttribute))
      } catch let error where error.errno == ENODATA || error.isUnsupported {
        return nil
      }
    }
  }

  /// What the kernel takes for one value, or for all names of a file.
  private static var largestAttribute: Int { 65_536 }
}

extension Directory {
  /// Sets owner and group of a name; a symbolic link's own.
  package func setOwner(_ name: some PathBytes & ~Escapable, user: UInt32, group: UInt32) throws(SystemError) {
    try unsafe name.callingName("set the owner of") { unsafe fchownat(raw, $0, user, group, AT_SYMLINK_NOFOLLOW) }
  }
}
