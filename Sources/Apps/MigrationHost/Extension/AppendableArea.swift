package import MigrationSystem

/// The items that an exporter may append: those in its app's container, in the containers of its
/// groups, in its directory for temporary files, and in its own bundle.
///
/// What a process may read beyond them, such as libraries and the names of users, it may read in
/// order to run. It is no data of the app.
package struct AppendableArea: Sendable {
  /// The directories, as absolute paths without links.
  private let roots: [[UInt8]]

  /// A missing directory has no items.
  package init(_ directories: [[UInt8]]) {
    roots = directories.compactMap { try? Directory.open($0).canonicalPath() }
  }

  /// Whether a place is in the area: an absolute path without links.
  package func covers(_ place: [UInt8]) -> Bool {
    roots.contains { $0 == place || $0 == [UInt8(ascii: "/")] || place.starts(with: $0 + [UInt8(ascii: "/")]) }
  }

  /// The place of an open file or directory.
  package static func place(of descriptor: borrowing Descriptor) throws(SystemError) -> [UInt8] {
    try Directory.open("/proc/self/fd").readLink("\(descriptor.raw)")
  }
}

extension AppendableArea {
  /// The area of an extension at its place.
  init(_ site: ExtensionSite) {
    self.init(([site.container, site.scratch] + site.groups.values).map { Array($0.utf8) } + [site.bundle.path])
  }
}
