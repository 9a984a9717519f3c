package import MigrationSystem
package import MigrationWire

/// Something that could not be done with items on disk.
package struct ArchiveError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What kind of failure it is; more may be added.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// A source that the user named is not there or cannot be read.
    package static let source = Code(rawValue: "source")
    /// The destination is no directory that we may write to.
    package static let destination = Code(rawValue: "destination")
    /// An entry of that name exists.
    package static let exists = Code(rawValue: "exists")
    /// Two items of one transfer have names that the destination takes for the same.
    package static let collision = Code(rawValue: "collision")
    /// There is not enough space.
    package static let noSpace = Code(rawValue: "no space")
    /// Reading or writing failed.
    package static let storage = Code(rawValue: "storage")
    /// What an earlier run staged cannot be believed.
    package static let journal = Code(rawValue: "journal")
    /// Another process works on the same thing.
    package static let inUse = Code(rawValue: "in use")
    /// A path that no item of an archive can have.
    package static let path = Code(rawValue: "path")
    /// An app's exporter did not come to its end.
    package static let exportFailed = Code(rawValue: "export")
    /// What arrived is complete and could not be put in its place.
    package static let importFailed = Code(rawValue: "import")
    /// The data of another app was offered, or of none.
    package static let otherApp = Code(rawValue: "other app")
    /// The user broke an import off.
    package static let cancelled = Code(rawValue: "cancelled")
    /// The transfer was stopped while this was going on.
    package static let stopped = Code(rawValue: "stopped")
  }

  package let code: Code
  /// A complete lower-case clause, safe to show.
  package let description: String
  /// A sentence that says what to do, where that is another than the code's.
  package let hint: String?
  /// The bytes of the name that it is about.
  package let name: [UInt8]?
  /// The kernel's reason.
  package let cause: SystemError?
  /// The figures, where space is short before anything is written.
  package let shortage: SpaceShortage?
  /// Why the destination cannot hold the item, where that was known beforehand.
  let refusal: RefusalReason?

  package init(
    _ code: Code, _ description: String, hint: String? = nil, name: [UInt8]? = nil, cause: SystemError? = nil,
    shortage: SpaceShortage? = nil
  ) {
    self.hint = hint
    self.shortage = shortage
    refusal = nil
    self.code = cause?.isNoSpace == true ? .noSpace : code
    self.description = cause.map { "\(description): \($0.words)" } ?? description
    self.name = name
    self.cause = cause
  }

  /// There is too little room for an offer.
  init(_ shortage: SpaceShortage) { self.init(.noSpace, shortage.description, shortage: shortage) }

  /// A failure of the disk while something was done with an item.
  package init(_ action: String, _ path: ArchivePath, _ cause: SystemError) {
    self.init(.storage, "\(action) \(VisibleText.quoted(path)) failed", name: path.bytes, cause: cause)
  }

  /// An item that the destination is known not to hold.
  init(refusing path: ArchivePath, _ refusal: RefusalReason) {
    hint = nil
    code = .storage
    description = "the destination cannot hold \(VisibleText.quoted(path)): \(refusal.words)"
    name = path.bytes
    cause = nil
    shortage = nil
    self.refusal = refusal
  }

  /// A failure to give an item its place: something else has it, or the disk failed.
  init(placing path: ArchivePath, _ action: String, _ cause: SystemError) {
    guard cause.isAlreadyExisting || cause.isNotDirectory || cause.isSymbolicLink else {
      self.init(action, path, cause)
      return
    }
    self.init(
      .collision,
      "another item already has the name \(VisibleText.quoted(path)), or one that the destination takes for it",
      name: path.bytes)
  }
}
