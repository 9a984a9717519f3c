/// Which file system holds something.
package struct FileSystemName: Hashable, Sendable {
  /// A number that mostly outlives a restart; zero where there is none.
  package let identifier: UInt64
  /// The kernel's number of its kind.
  package let type: UInt64

  package init(identifier: UInt64, type: UInt64) {
    self.identifier = identifier
    self.type = type
  }
}
