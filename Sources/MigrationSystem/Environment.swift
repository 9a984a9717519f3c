import Glibc

/// The environment variables of the program.
package enum Environment {
  /// A variable's value; nil if it is not set. Bytes that are not UTF-8 are replaced.
  package static func get(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  /// A variable's value, unchanged, for paths.
  package static func bytes(_ name: String) -> [UInt8]? {
    unsafe getenv(name).map { value in
      unsafe Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }
  }
}
