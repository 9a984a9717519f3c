package import MigrationArchive
package import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// An error of the layers below that an engine hears of as a fault.
protocol FaultCause: Error {
  var fault: Fault { get }
}

extension Fault {
  /// Makes a fault of an error that was thrown on this end.
  package init(_ error: any Error) {
    switch error {
    case let fault as Fault: self = fault
    case let cause as any FaultCause: self = cause.fault
    default: self.init(.device, "\(error)", telling: "something failed")
    }
  }
}

extension Violation: FaultCause {
  var fault: Fault { Fault(self) }
}

extension Close: FaultCause {
  var fault: Fault { Fault(told: self) }
}

extension AbortReason: FaultCause {
  var fault: Fault { Fault(self) }
}

extension PinMismatch: FaultCause {
  var fault: Fault { .otherKey }
}

extension ConnectionError: FaultCause {
  var fault: Fault { Fault(code == .violated ? .violation : .connection, description) }
}

extension SystemError: FaultCause {
  var fault: Fault { Fault(.device, description) }
}

extension TLSError: FaultCause {
  var fault: Fault { Fault(.device, description) }
}

extension StoreError: FaultCause {
  var fault: Fault {
    let failure = failure
    return Fault(isInUse ? .inUse : .device, description, hint: failure.hint, as: failure.kind)
  }
}

extension TransferFailure: FaultCause {
  var fault: Fault { Fault(.device, message, hint: hint, about: subject, as: kind) }
}

extension ArchiveError: FaultCause {
  var fault: Fault {
    Fault(
      code.fault, description, hint: hint,
      about: TransferFailure.Subject(name: name, bytes: shortage?.bytes, items: shortage?.items))
  }
}

extension ArchiveError.Code {
  fileprivate var fault: Fault.Code {
    switch self {
    case .exists: .exists
    case .noSpace: .noSpace
    case .destination: .unfit
    case .inUse: .inUse
    case .collision: .collision
    case .otherApp: .otherApp
    case .importFailed: .importFailed
    case .cancelled: .importCancelled
    case .exportFailed: .exportFailed
    case .source: .source
    case .storage: .storage
    default: .device
    }
  }
}

extension TransferFailure {
  /// The failure of an operation on this device while no other device takes part.
  package init(_ error: ArchiveError) { self = error.fault.failure }
}
