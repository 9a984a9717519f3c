import MigrationSystem
import MigrationWire

extension Staging {
  /// The file at the destination that an earlier plan has brought under a path, and from which the
  /// staged file takes pieces.
  struct Base: Sendable {
    let file: DiskFile
    private let item: ArrivedItem

    var size: UInt64 { item.size }

    /// Opens the file; nil if another file is there, or if the file was touched since it arrived.
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

  /// Gives a piece of a staged file the bytes of its base. A base that fails is none in the next plan
  /// either: the file comes whole.
  func copyFromBase(_ place: FilePiece, to file: OpenFile) throws {
    do {
      try file.copy(place, from: base(of: place.path))
    } catch let error as Failure where error.refusal == .baseChanged {
      arrivals?.forgetBase(at: place.path)
      // An app's data is replaced whole: without this file it would not be that of the source.
      guard existing == .setAside else { throw error }
      throw Failure(
        .storage, "\(VisibleText.quoted(place.path)) was changed here while its newer version came",
        hint: "Close the app, and run both commands again.", name: place.path.bytes)
    }
  }

  /// The base of a file; nil if there is none any more.
  private func base(of path: ArchivePath) -> Base? {
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
  fileprivate func copy(_ place: FilePiece, from base: Staging.Base?) throws {
    guard let base, place.range.upperBound <= base.size else { throw Failure(refusing: place.path, .baseChanged) }
    do throws(SystemError) {
      try copy(place.range, from: base.file)
    } catch {
      // What cannot be read is no base; a full disk is one for every item.
      throw error.isNoSpace ? Failure("copying", place.path, error) : Failure(refusing: place.path, .baseChanged)
    }
    guard base.isUntouched else { throw Failure(refusing: place.path, .baseChanged) }
  }
}

extension ArrivedItem {
  /// Whether the file lies as it came, and may be a base of its next version.
  var mayBeBase: Bool { kind == .file && isVerbatim && !sum.isEmpty && size > 0 && entry?.size == size && !isVoid }
}
