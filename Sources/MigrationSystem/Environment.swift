import Glibc

/// The variables that the program was started with.
package enum Environment {
  /// A variable's value, or nil if it is not set. Bytes that are not UTF-8 are replaced.
  package static func get(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  /// A variable's value as it is, for paths.
  package static func bytes(_ name: String) -> [UInt8]? {
    unsafe getenv(name).map { value in
      unsafe Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }
  }
}
