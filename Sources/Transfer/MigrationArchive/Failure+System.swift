package import MigrationSystem
package import MigrationWire

extension Failure {
  /// The kernel has refused something; the message is the action, a clause without the cause.
  package init(
    _ code: Code, _ action: String, hint: String? = nil, name: [UInt8]? = nil, cause: SystemError?
  ) {
    let isFull = cause?.isNoSpace == true
    self.init(
      isFull ? .noSpace : code, cause.map { "\(action): \($0.words)" } ?? action,
      // What is not of a transfer has no destination.
      hint: hint ?? (isFull && code == .failed ? "Free some space on that disk, and start again." : nil), name: name,
      by: cause)
  }

  /// The kernel has refused something, which the error itself describes.
  package init(_ error: SystemError) { self.init(.failed, error.description, by: error) }

  private init(_ code: Code, _ message: String, hint: String? = nil, name: [UInt8]? = nil, by error: SystemError?) {
    let cause = error.map { SystemCause(number: $0.errno, words: $0.words) }
    if error?.isDescriptorShortage == true {
      // No item, disk or directory is the cause.
      self.init(
        .failed, message,
        hint: "The limit of open files is too low for peer: raise it, as by 'ulimit -n 1024', and start again.",
        for: .descriptors, name: name, by: cause)
    } else {
      self.init(code, message, hint: hint, name: name, by: cause)
    }
  }

  /// The system's error that is the cause, without the call.
  package var cause: SystemError? {
    systemCause.map {
      $0.number == 0
        ? SystemError(reason: $0.words, operation: "do it") : SystemError(errno: $0.number, operation: "do it")
    }
  }

  /// A transfer has more than the user of this device takes.
  init(over limit: Close.Space) {
    self.init(
      .noSpace, limit.exceeded,
      hint: "Start 'peer receive' with a greater --max-size, or without it; the received data is kept.", for: .tooMuch,
      bytes: limit)
  }

  /// The destination has too little space for an offer.
  init(_ shortage: SpaceShortage) {
    self.init(
      .noSpace, shortage.description, hint: shortage.bytes.isShort ? nil : Close.Space.entriesHint,
      for: shortage.isOpen && shortage.bytes.isShort ? .outgrown : nil, bytes: shortage.bytes, items: shortage.items)
  }

  /// The disk failed during an action on an item.
  package init(_ action: String, _ path: ArchivePath, _ cause: SystemError) {
    self.init(.storage, "\(action) \(VisibleText.quoted(path)) failed", name: path.bytes, cause: cause)
  }

  /// An item that the destination is known to be unable to hold.
  init(refusing path: ArchivePath, _ refusal: NotStored.Reason) {
    self.init(
      .storage, "the destination cannot hold \(VisibleText.quoted(path)): \(refusal.words)", name: path.bytes,
      refusing: refusal)
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

extension Failure {
  /// Evaluates an expression that the kernel may refuse; `action` then describes the failure: "the
  /// container of X cannot be made".
  package static func wrapping<Result: ~Copyable>(
    _ code: Code, _ action: @autoclosure () -> String, hint: String? = nil, name: [UInt8]? = nil,
    _ body: @autoclosure () throws(SystemError) -> Result
  ) throws(Failure) -> Result {
    do { return try body() } catch { throw Failure(code, action(), hint: hint, name: name, cause: error) }
  }

  /// Evaluates an expression whose error says everything.
  package static func wrapping<Result: ~Copyable>(
    _ body: @autoclosure () throws(SystemError) -> Result
  ) throws(Failure) -> Result {
    do { return try body() } catch { throw Failure(error) }
  }
}
