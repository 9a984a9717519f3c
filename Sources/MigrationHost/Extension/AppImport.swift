import MigrationArchive
import MigrationSystem
import MigrationWire

/// One run of an app's importer.
struct AppImport: ~Copyable {
  enum End: Equatable, Sendable {
    case done
    /// The importer threw.
    case failed(ReportedError)
    /// The user broke it off.
    case cancelled
    /// The process ended, or did not do as it must; what happened, as a clause that can follow the app's name.
    case broken(String)
  }

  private var conversation: ExtensionConversation
  /// Set when the user wants it to end.
  private let stop: StopSignal
  private var cancelledAt: BootInstant?
  /// What the extension has told besides: each thing is heard once.
  private var notices: Set<ExtensionNotice> = []
  private let notice: (ExtensionNotice) -> Void

  /// - Parameter notice: hears what the author should know, and what ends nothing.
  init(
    _ conversation: consuming ExtensionConversation, until stop: StopSignal,
    notice: @escaping (ExtensionNotice) -> Void
  ) {
    self.conversation = conversation
    self.stop = stop
    self.notice = notice
    self.conversation.heed(stop)
  }

  /// Lets the importer take what stands in a directory, and returns when the process is gone.
  consuming func run(
    directory: [UInt8], from app: AppIdentity, progress: (UInt32) -> Void
  ) -> End {
    var result: End?
    do {
      try conversation.say(.importItems(directory: directory, from: app))
      result = try converse(progress)
    } catch {
      result = .broken("broke the rules of its host (\(error))")
    }
    // What it does after it has said that it is done, or that it is not, does not count.
    conversation.kill()
    let end = conversation.close()
    return result ?? .broken(end.words)
  }

  /// Nil where only the end of the process tells what happened.
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
