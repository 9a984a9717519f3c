package import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire

/// Why a session ends early: what the other end is told, and what this end's user is told.
struct SessionFailure: Error, Sendable {
  /// What a session ended by, as far as that decides whether another one follows.
  private enum Cause: Equatable {
    /// The connection was cut, or fell silent.
    case connection
    /// The other end said so.
    case told(Close.Code)
    /// This end said so.
    case own
  }

  let close: Close
  let failure: TransferFailure
  private let cause: Cause

  init(_ close: Close, _ failure: TransferFailure) {
    self.init(close, failure, .own)
  }

  private init(_ close: Close, _ failure: TransferFailure, _ cause: Cause) {
    self.close = close
    self.failure = failure
    self.cause = cause
  }

  /// Whether the other end has said so, and needs no answer.
  var isTold: Bool { if case .told = cause { true } else { false } }

  /// Whether the sender connects again by itself.
  var isReconnectable: Bool { cause == .connection || cause == .told(.silent) }

  /// Whether the receiver waits for the sender, which may come back by itself or by its user's hand.
  var senderMayComeBack: Bool { isReconnectable || cause == .told(.interrupted) }

  /// Makes both out of whatever was thrown on this end.
  init(_ error: any Error) {
    switch error {
    case let error as SessionFailure: self = error
    case let error as Violation: self.init(Close(error), TransferFailure(.failed, error.description))
    case let error as ArchiveError: self.init(error)
    case let close as Close: self.init(close, TransferFailure(told: close), .told(close.code))
    case let error as ConnectionError: self.init(error)
    case is PinMismatch:
      self.init(
        Close(.violation, "the key is not the one of the pairing"),
        TransferFailure(.pairing, "The other device's key is not the one you paired with. Stopped."))
    case let reason as AbortReason: self.init(Close(.violation, reason.failure.message), reason.failure)
    case let error as TLSError:
      self.init(Close(.storage, error.description), TransferFailure(.failed, error.description))
    case let error as StoreError:
      self.init(Close(.storage, error.description), error.failure)
    case let error as TransferFailure: self.init(Close(.storage, error.message), error)
    case let error as SystemError:
      self.init(Close(.storage, error.description), TransferFailure(.failed, error.description))
    default: self.init(Close(.storage, "something failed"), TransferFailure(.failed, "\(error)"))
    }
  }

  private init(_ error: ConnectionError) {
    if error.code == .violated {
      self.init(Close(.violation, error.description), TransferFailure(.failed, error.description))
      return
    }
    let failure = TransferFailure(
      .connectionLost, error.description,
      hint: "Start the same command on both devices again.")
    // The other end, if it hears it, takes it for what it is as well.
    self.init(Close(.silent, error.description), failure, .connection)
  }

  /// What to do about a disk that fails.
  private static let mend = "What has arrived is kept. When the disk is mended, start again."

  private init(_ error: ArchiveError) {
    let (code, kind, hint): (Close.Code, TransferFailure.Kind, String?) =
      switch error.code {
      case .exists:
        (
          .exists, .refused,
          "Choose another destination, or start 'peer receive' with --existing skip, keep-both or replace."
        )
      case .noSpace: (.noSpace, .noSpace, "Free some space at the destination, and start again.")
      case .destination: (.unfit, .refused, "Choose a directory that exists and that you may write to.")
      case .inUse: (.unfit, .refused, "Wait until it is done, or choose another destination.")
      case .collision: (.unfit, .refused, "Rename one of the two, or choose a destination that tells such names apart.")
      case .otherApp: (.otherApp, .refused, "Start both devices' commands for the same app.")
      case .holdsData:
        (
          .unfit, .refused,
          "Start 'peer receive' with --replace: what is there is set aside, and comes back if the import fails."
        )
      case .importFailed: (.importFailed, .importFailed, nil)
      case .cancelled: (.importFailed, .interrupted, nil)
      case .exportFailed: (.exportFailed, .exportFailed, nil)
      case .source: (.exportFailed, .usage, "Check the path, and that you may read it.")
      case .storage: (.storage, .failed, Self.mend)
      default: (.storage, .failed, nil)
      }
    let close = Close(
      code, error.description, hint: hint, name: error.name, bytes: error.shortage?.bytes,
      items: error.shortage?.items)
    self.init(close, TransferFailure(kind, error.description, hint: hint, about: TransferFailure.Subject(close)))
  }
}

extension TransferFailure {
  /// What a failure on this device means before there is another one.
  package init(_ error: ArchiveError) { self = SessionFailure(error as any Error).failure }
}
