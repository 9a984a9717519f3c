import MigrationArchive
import MigrationSystem
import MigrationWire

/// One run of an app's importer.
struct AppImport: ~Copyable {
  enum End: Equatable, Sendable {
    case done
    /// The importer threw.
    case failed(ReportedError)
    /// The user cancelled the import.
    case cancelled
    /// The process ended, or violated its rules; the event, as a clause that can follow the app's
    /// name.
    case broken(String)
  }

  private var conversation: ExtensionConversation
  /// Set when the user requests the end.
  private let stop: StopSignal
  private var cancelledAt: BootInstant?
  /// The extension's notices so far: each is reported once.
  private var notices: Set<ExtensionNotice> = []
  private let notice: (ExtensionNotice) -> Void

  /// - Parameter notice: called for notices to the author that do not end the import.
  init(
    _ conversation: consuming ExtensionConversation, until stop: StopSignal,
    notice: @escaping (ExtensionNotice) -> Void
  ) {
    self.conversation = conversation
    self.stop = stop
    self.notice = notice
    self.conversation.heed(stop)
  }

  /// Lets the importer process the data in a directory, and returns when the process has ended.
  consuming func run(
    directory: [UInt8], from app: AppIdentity, progress: (UInt32) -> Void
  ) -> End {
    var result: End?
    do {
      try conversation.say(.importItems(directory: directory, from: app))
      result = try converse(progress)
    } catch {
      result = .broken("violated the protocol of its host (\(error))")
    }
    // Actions after its report of success or failure do not count.
    conversation.kill()
    let end = conversation.close()
    return result ?? .broken(end.words)
  }

  /// Nil if only the end of the process shows the result.
  private mutating func converse(_ progress: (UInt32) -> Void) throws -> End? {
    while true {
      if stop.isSet, cancelledAt == nil {
        cancelledAt = .now()
        try conversation.say(.cancel)
      }
      let deadline = cancelledAt?.advanced(by: .seconds(ExportWatch.grace))
      if let deadline, BootInstant.now() >= deadline { return .cancelled }
      let event = try conversation.next(until: deadline)
      switch consume event {
      case .nothing: continue
      case .ended: return cancelledAt == nil ? nil : .cancelled
      case .message(.progress(let millionths), _): progress(millionths)
      case .message(.notice(let found), _):
        if notices.insert(found).inserted { notice(found) }
      case .message(.ended(let error), _):
        guard let error else { return .done }
        return cancelledAt == nil ? .failed(error) : .cancelled
      case .message(_, _): throw Violation(.state, "a message of the extension")
      }
    }
  }
}
