package import MigrationSystem
package import MigrationWire

/// An operation on items on disk that failed.
package struct ArchiveError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure; later versions may add kinds.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// A source that the user named does not exist or cannot be read.
    package static let source = Code(rawValue: "source")
    /// The destination is not a directory that this process can write to.
    package static let destination = Code(rawValue: "destination")
    /// The name already exists.
    package static let exists = Code(rawValue: "exists")
    /// Two items of one transfer have names that the destination treats as equal.
    package static let collision = Code(rawValue: "collision")
    /// There is not enough space.
    package static let noSpace = Code(rawValue: "no space")
    /// Reading or writing failed.
    package static let storage = Code(rawValue: "storage")
    /// The data staged by an earlier run cannot be trusted.
    package static let journal = Code(rawValue: "journal")
    /// Another process uses the same resource.
    package static let inUse = Code(rawValue: "in use")
    /// The path is not valid for an item of an archive.
    package static let path = Code(rawValue: "path")
    /// An app's exporter did not complete.
    package static let exportFailed = Code(rawValue: "export")
    /// The received data is complete and could not be moved to its destination.
    package static let importFailed = Code(rawValue: "import")
    /// The other device offered another app's data, or folders.
    package static let otherApp = Code(rawValue: "other app")
    /// The part is of a kind that this program does not know.
    package static let unknownKind = Code(rawValue: "unknown kind")
    /// The app is not installed here.
    package static let notInstalled = Code(rawValue: "not installed")
    /// The app runs, or another process uses its data.
    package static let appInUse = Code(rawValue: "app in use")
    /// The user of this device has not allowed it.
    package static let notAllowed = Code(rawValue: "not allowed")
    /// The user cancelled an import.
    package static let cancelled = Code(rawValue: "cancelled")
    /// The transfer was stopped during the operation.
    package static let stopped = Code(rawValue: "stopped")
  }

  package let code: Code
  /// A complete lower-case clause, safe to show.
  package let description: String
  /// A sentence that says what to do, if it differs from the hint of the code.
  package let hint: String?
  /// The bytes of the name that the error is about.
  package let name: [UInt8]?
  /// The kernel's reason.
  package let cause: SystemError?
  /// The required and available space, if space is short before any data is written.
  package let shortage: SpaceShortage?
  /// Why the destination cannot hold the item, if this was known beforehand.
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

  /// The destination has too little space for an offer.
  init(_ shortage: SpaceShortage) {
    self.init(
      .noSpace, shortage.description, hint: shortage.bytes.isShort ? nil : Close.Space.entriesHint, shortage: shortage)
  }

  /// The disk failed during an action on an item.
  package init(_ action: String, _ path: ArchivePath, _ cause: SystemError) {
    self.init(.storage, "\(action) \(VisibleText.quoted(path)) failed", name: path.bytes, cause: cause)
  }

  /// An item that the destination is known to be unable to hold.
  init(refusing path: ArchivePath, _ refusal: RefusalReason) {
    hint = nil
    code = .storage
    description = "the destination cannot hold \(VisibleText.quoted(path)): \(refusal.words)"
    name = path.bytes
    cause = nil
    shortage = nil
    self.refusal = refusal
  }

  /// A failure to move an item to its destination: the name is taken, or the disk failed.
  init(placing path: ArchivePath, _ action: String, _ cause: SystemError) {
    guard cause.isAlreadyExisting || cause.isNotDirectory || cause.isSymbolicLink else {
      self.init(action, path, cause)
      return
    }
    self.init(
      .collision,
      "another item already has the name \(VisibleText.quoted(path)), or a name that the destination treats as equal",
      name: path.bytes)
  }
}
