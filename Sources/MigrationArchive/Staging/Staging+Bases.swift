import MigrationSystem
import MigrationWire

extension Staging {
  /// The file at the destination that an earlier plan has brought under a path, and from which the
  /// staged file takes pieces.
  struct Base: Sendable {
    let file: DiskFile
    private let item: ArrivedItem

    /// Opens the file; nil if it is not the one that arrived, or was touched since.
    fileprivate init?(_ item: ArrivedItem, at destination: any ImportDestination) {
      guard item.mayBeBase, let file = try? destination.openBase(item.target) else { return nil }
      (self.file, self.item) = (file, item)
      guard isUntouched else { return nil }
    }

    /// Whether every byte that was read until now is one of those that arrived.
    var isUntouched: Bool {
      (try? file.entry()).map { item.isUntouched($0, tellsEntriesApart: true) { nil } } ?? false
    }
  }

  /// The base of a file; nil if there is none any more.
  func base(of path: ArchivePath) -> Base? {
    if let open = bases.withLock({ $0[path] }) { return open }
    guard abilities.tellsEntriesApart, let destination = disk.destination,
      let base = arrivals?.item(at: path).flatMap({ Base($0, at: destination) })
    else { return nil }
    bases.withLock { $0[path] = base }
    return base
  }
}

extension Staging.OpenFile {
  /// Gives a range the bytes of a base. Fails if the base may have changed since it arrived.
  func copy(_ place: FilePiece, from base: Staging.Base?) throws {
    guard let base else { throw Failure(refusing: place.path, .baseChanged) }
    try SystemError.mapped(copy(place.range, from: base.file)) { Failure("copying", place.path, $0) }
    guard base.isUntouched else { throw Failure(refusing: place.path, .baseChanged) }
  }
}

extension ArrivedItem {
  /// Whether the file lies as it came, and may be a base of its next version.
  var mayBeBase: Bool { kind == .file && isVerbatim && !sum.isEmpty && size > 0 && !isVoid }
}
