import MigrationArchive
import MigrationSystem
import MigrationWire

/// One run of an app's exporter: its appends become items of the archive, and it is watched.
struct AppExport: ~Copyable {
  enum End: Equatable {
    case done
    /// The transfer has ended before the export. A clause about the exporter that had to be killed.
    case stopped(fault: String?)
  }

  private var conversation: ExtensionChannel
  private let archive: ArchiveExport<RealDirectory>
  private let area: AppendableArea
  private let appender: ItemAppender
  /// The appends without an answer, in order: being read, or completed.
  private var appends: [Append] = []
  private let name: String
  private var watch: ExtensionWatch
  /// Called for notices that do not end the export, and for each refused append.
  private let observe: (HostNews) -> Void
  /// The most appends that may be read at a time: each has an open file.
  private static let mostAppends = 64

  private enum Append {
    case reading(ItemAppender.Append)
    case over(ReportedError?)
  }

  /// The number of appends that were answered with the cancellation.
  private var cancelledAppends = 0
  /// Whether it has reported the end of its work. Its appended items are still read.
  private var isEnding = false

  /// Exports with a process that has reported its abilities, at its site.
  init(
    _ conversation: consuming ExtensionChannel, at site: ExtensionSite, to archive: ArchiveExport<RealDirectory>,
    idleLimit: IdleLimit, observe: @escaping (HostNews) -> Void
  ) {
    self.conversation = conversation
    self.archive = archive
    name = site.identifier
    area = AppendableArea(site)
    appender = ItemAppender(export: archive)
    self.observe = observe
    watch = ExtensionWatch(limit: idleLimit, now: ExtensionWatch.now())
    self.conversation.heed(archive.settings.stopSignal)
  }

  /// Requests everything, and returns when the process has ended.
  consuming func run(platform: String, options: [AppRequest.Option]) throws(Failure) -> End {
    let failure: Failure
    do {
      try conversation.say(.export(platform: platform, options: options, hearsFailures: true))
      let end = try converse()
      _ = conversation.close()
      return end
    } catch is ExtensionChannel.Gone {
      throw Failure(.exportFailed, "the extension of \(name) \(conversation.end().words) during the export")
    } catch {
      failure = Self.failure(error, of: name)
    }
    conversation.kill()
    _ = conversation.close()
    throw failure
  }

  private mutating func converse() throws -> End {
    while true {
      if archive.isStopped, !watch.isCancelled { try cancel() }
      try archive.check()
      try answer()
      if isEnding {
        if appends.isEmpty { return watch.isCancelled ? .stopped(fault: nil) : try ended(nil) }
        // The process may have ended, and all its messages have been read.
        _ = try conversation.wait(until: deadline, forItsEnd: false)
        continue
      }
      if appends.count >= Self.mostAppends, try !conversation.wait(until: deadline, forItsEnd: true) { continue }
      let event = try conversation.next(until: deadline, isItsTurn: appends.isEmpty)
      switch consume event {
      case .nothing:
        // Only now: while this process did not run, an append may have arrived.
        if let end = try look() { return end }
      case .ended:
        if watch.isCancelled { return .stopped(fault: nil) }
        throw ExtensionChannel.Gone()
      case .message(.append(let item), let descriptor):
        if let end = try append(item, descriptor) { return end }
      case .message(.failedAppend(let error), _):
        observe(.refused(error))
        // An exporter that only fails to append appends nothing.
        if let end = try look() { return end }
      case .message(.ended(nil), _) where !watch.isCancelled: isEnding = true
      case .message(.ended(let error), _): return try ended(error)
      case .message(_, _):
        throw Violation(.state, "a message of the extension")
      }
    }
  }

  private var deadline: BootInstant? { watch.wakeTime }

  private mutating func cancel() throws(SystemError) {
    watch.cancelled(now: ExtensionWatch.now())
    try conversation.say(.cancel)
  }

  /// Checks the watch; returns the end of the export if it is due.
  private mutating func look() throws(Failure) -> End? {
    let isStopped = watch.isIdle && conversation.isStopped
    switch watch.look(now: ExtensionWatch.now(), isStopped: isStopped) {
    case nil: return nil
    case .ignoresCancellation:
      return kill("did not end within \(ExtensionWatch.words(ExtensionWatch.grace)) after its cancellation")
    case .quiet(let seconds):
      let limit = watch.limit.seconds.map(ExtensionWatch.words) ?? ""
      observe(
        .notice(
          "the extension of \(name) has appended nothing for \(ExtensionWatch.words(seconds)); it is ended after \(limit)"
        )
      )
      return nil
    case .hung(let seconds):
      conversation.kill()
      throw Failure(
        .exportFailed, "the extension of \(name) appended nothing for \(ExtensionWatch.words(seconds)) and was ended")
    }
  }

  private func kill(_ fault: String) -> End {
    conversation.kill()
    return .stopped(fault: fault)
  }

  // MARK: Messages of the exporter

  /// Begins an append; returns the end of the export if this ends it.
  private mutating func append(_ item: AppendedItem, _ descriptor: consuming Descriptor?) throws -> End? {
    if watch.isCancelled {
      cancelledAppends += 1
      // This many may have been on their way.
      guard cancelledAppends <= Self.mostAppends else { return kill("went on appending after its cancellation") }
      try conversation.say(.appended(.cancelled))
      return nil
    }
    watch.appendBegan()
    do throws(Failure) {
      appends.append(try begin(item, descriptor.take()))
    } catch {
      if error.code == .stopped {
        cancelledAppends += 1
        appends.append(.over(.cancelled))
        try cancel()
      } else if error.isOfOneItem {
        appends.append(.over(ReportedError(appending: error)))
      } else {
        throw error
      }
    }
    return nil
  }

  private func begin(_ item: AppendedItem, _ descriptor: consuming Descriptor?) throws(Failure) -> Append {
    switch item.content {
    case .symbolicLink(let target, let modified):
      try appender.appendLink(target: target, modified: modified, at: item.path)
      return .over(nil)
    case .descriptor:
      // A descriptor that only represents a path has passed no check of the extension's read
      // permission.
      guard let descriptor, descriptor.isReadable else {
        throw Failure(.source, "\(VisibleText.quoted(item.path)) was not opened for reading", name: item.path)
      }
      let place = try Failure.wrapping(
        .source, "\(VisibleText.quoted(item.path)) cannot be read", name: item.path,
        AppendableArea.place(of: descriptor))
      guard area.covers(place) else {
        throw Failure(
          .source,
          "\(VisibleText.quoted(place)) is neither in the app's container or groups, nor a temporary file of the "
            + "extension, nor in its bundle", name: item.path, cause: SystemError(noPermission: "append"))
      }
      observe(.appended(place))
      return .reading(try appender.begin(descriptor, at: item.path))
    }
  }

  /// Answers the completed appends, each after those that were requested before it.
  private mutating func answer() throws {
    while let first = appends.first {
      switch first {
      case .over(let error): try tell(error)
      case .reading where watch.isCancelled:
        cancelledAppends += 1
        try conversation.say(.appended(.cancelled))
      case .reading(let append):
        guard appender.isRead(append) else { return }
        try tell(refusal(of: append))
      }
      appends.removeFirst()
      if appends.isEmpty { watch.appendEnded(now: ExtensionWatch.now()) }
    }
  }

  /// Answers an append.
  private mutating func tell(_ error: ReportedError?) throws(SystemError) {
    if let error, error != .cancelled { observe(.refused(error)) }
    try conversation.say(.appended(error))
  }

  /// Why a completed append is not in the archive, or not all of it.
  private func refusal(of append: ItemAppender.Append) throws(Failure) -> ReportedError? {
    do {
      try appender.end(append)
      return nil
    } catch {
      guard error.isOfOneItem else { throw error }
      return ReportedError(appending: error)
    }
  }

  private mutating func ended(_ error: ReportedError?) throws -> End {
    if watch.isCancelled {
      // The only proper end is a rethrown cancellation, or a cancellation that came too late to be
      // reported.
      if ExtensionWatch.isProperEnd(error, hasThrown: cancelledAppends > 0) { return .stopped(fault: nil) }
      let act = error == nil || error == .swallowedCancellation ? "returned" : "threw another error"
      return kill("\(act) after its cancellation, and must rethrow the CancellationError that an append threw")
    }
    if let error {
      throw Failure(.exportFailed, "the exporter of \(name) failed: \(error.words)")
    }
    appender.finish()
    return .done
  }

  // MARK: Failures

  private static func failure(_ error: any Error, of name: String) -> Failure {
    switch error {
    case let error as Failure: error
    case let error as SystemError:
      Failure(.exportFailed, "the connection to the extension of \(name) failed", cause: error)
    default: Failure(.exportFailed, "the extension of \(name) violated the protocol of its host (\(error))")
    }
  }
}

extension Failure {
  /// Whether only the appended item failed, and not the transfer.
  fileprivate var isOfOneItem: Bool {
    switch code {
    case .path, .exists, .source: true
    case .storage, .noSpace, .failed: cause != nil
    default: false
    }
  }
}

extension ReportedError {
  /// A test's error for an extension that a device would have refused or ended; a sentence.
  package static func fault(_ sentence: String) -> ReportedError {
    ReportedError(domain: systemDomain, code: 4, text: sentence)
  }
}
