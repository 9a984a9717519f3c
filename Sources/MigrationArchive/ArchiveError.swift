package import MigrationSystem
package import MigrationWire

/// An operation on items on disk that failed.
package struct ArchiveError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure.
  package enum Code: String, Sendable {
    /// A source that the user named does not exist or cannot be read.
    case source
    /// The destination is not a directory that this process can write to.
    case destination
    /// The name already exists.
    case exists
    /// Two items of one transfer have names that the destination treats as equal.
    case collision
    /// There is not enough space.
    case noSpace = "no space"
    /// Reading or writing failed.
    case storage
    /// The data staged by an earlier run cannot be trusted.
    case journal
    /// Another process uses the same resource.
    case inUse = "in use"
    /// The path is not valid for an item of an archive.
    case path
    /// An app's exporter did not complete.
    case exportFailed = "export"
    /// The received data is complete and could not be moved to its destination.
    case importFailed = "import"
    /// The other device offered another app's data, or folders.
    case otherApp = "other app"
    /// The part is of a kind that this program does not know.
    case unknownKind = "unknown kind"
    /// The app is not installed here.
    case notInstalled = "not installed"
    /// The app runs, or another process uses its data.
    case appInUse = "app in use"
    /// The app has data here, which is not to be replaced.
    case appHasData = "app has data"
    /// What arrived earlier was changed here, and the source has nothing newer.
    case nothingNewer = "nothing newer"
    /// The user of this device has not allowed it.
    case notAllowed = "not allowed"
    /// The user cancelled an import.
    case cancelled
    /// Files that belong together changed while they were sent: another session sends them again.
    case torn
    /// The transfer was stopped during the operation.
    case stopped
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
  /// What a transfer has, and the most that the user of this device takes of it.
  package let limit: Close.Space?
  /// Why the destination cannot hold the item, if this was known beforehand.
  let refusal: NotStored.Reason?

  package init(
    _ code: Code, _ description: String, hint: String? = nil, name: [UInt8]? = nil, cause: SystemError? = nil,
    shortage: SpaceShortage? = nil
  ) {
    self.hint = hint
    self.shortage = shortage
    limit = nil
    refusal = nil
    self.code = cause?.isNoSpace == true ? .noSpace : code
    self.description = cause.map { "\(description): \($0.words)" } ?? description
    self.name = name
    self.cause = cause
  }

  /// The same error, with what else went wrong after it.
  func adding(_ clause: String?) -> ArchiveError {
    guard let clause else { return self }
    return ArchiveError(copying: self, "\(description); \(clause)")
  }

  private init(copying error: ArchiveError, _ description: String) {
    (code, name, cause, hint) = (error.code, error.name, error.cause, error.hint)
    (shortage, limit, refusal) = (error.shortage, error.limit, error.refusal)
    self.description = description
  }

  /// A transfer has more than the user of this device takes.
  init(over limit: Close.Space) {
    self.limit = limit
    code = .noSpace
    description = limit.exceeded
    hint = "Start 'peer receive' with a greater --max-size, or without it; the received data is kept."
    (name, cause, shortage, refusal) = (nil, nil, nil, nil)
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
  init(refusing path: ArchivePath, _ refusal: NotStored.Reason) {
    hint = nil
    code = .storage
    description = "the destination cannot hold \(VisibleText.quoted(path)): \(refusal.words)"
    name = path.bytes
    cause = nil
    (shortage, limit) = (nil, nil)
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
