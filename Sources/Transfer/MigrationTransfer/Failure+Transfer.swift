import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
package import MigrationWire

extension Failure {
  /// The failure of a worker that has thrown.
  package init(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let violation as Violation: self.init(violation)
    case let error as SystemError: self.init(error)
    case let error as ConnectionError: self = error.failure
    default:
      assert(error is TLSError, "\(type(of: error)) has no failure")
      self.init(.failed, "\(error)")
    }
  }

  /// The records of transfers cannot be read or written. Only this device's user can mend that.
  init(store description: String, _ cause: SystemError) {
    let failure = Failure(.failed, description, cause: cause)
    self =
      switch failure.code {
      case .noSpace:
        Failure(
          .noSpace, failure.message,
          hint: "Free some space there, or let PEER_HOME name a directory on another disk.", for: .recordsFull)
      case _ where cause.isDescriptorShortage: failure
      default: failure.hinting("That directory must be yours to write to; PEER_HOME names it for the command.")
      }
  }

  /// Another process works on a transfer.
  static func taken(_ identifier: String, by holder: CInt?) -> Failure {
    Failure(
      .inUse, "another \(holder.map { "process (\($0))" } ?? "process") works on the transfer \(identifier)",
      hint: "Wait until it is done, or end it.")
  }
}

extension ConnectionError {
  /// What it means for a transfer.
  var failure: Failure {
    switch code {
    case .lost, .closed, .refused, .timedOut, .stopped, .relay: Failure(.connection, description)
    case .violated: Failure(.violation, description)
    case .violation(let violation): Failure(violation)
    case .aborted(let reason): reason.failure
    case .told(let close): Failure(told: close)
    case .unproved: Failure(.failed, description)
    case .stranger: .otherKey
    }
  }
}
