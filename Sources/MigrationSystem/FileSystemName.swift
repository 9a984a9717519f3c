/// The identity of a file system.
package struct FileSystemName: Hashable, Sendable {
  /// A number that usually stays the same after a restart; zero if there is none.
  package let identifier: UInt64
  /// The kernel's number of its type.
  package let type: UInt64

  package init(identifier: UInt64, type: UInt64) {
    self.identifier = identifier
    self.type = type
  }
}
