import MigrationEngine
import MigrationWire

/// A step of a transfer at which a fault may be triggered on purpose, because the step takes little
/// time.
enum Moment: CaseIterable {
  case dial
  case verdict
  case stage
  case accept
  case join
  case sync
  /// Everything is exported, and FINISH is about to be sent.
  case export
  case finish
  case importing
  case done
  case failed
  case receipt
}

extension SenderEngine.Action {
  var moment: Moment? {
    switch self {
    case .dial: .dial
    case .finishWindow: .export
    case .say(_, .failed): .failed
    case .say(_, .finish): .finish
    case .say(_, .receipt): .receipt
    default: nil
    }
  }
}

extension ReceiverEngine.Action {
  var moment: Moment? {
    switch self {
    case .stage: .stage
    case .say(_, .accept): .accept
    case .serve: .join
    case .sync: .sync
    case .importItems: .importing
    case .say(_, .done): .done
    case .say(_, .verdict): .verdict
    case .say(_, .failed): .failed
    default: nil
    }
  }
}
