package import MigrationArchive
package import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// An error of the layers below, which becomes a fault where a worker ends. Every error type of
/// those layers is one.
protocol FaultCause: Error {
  var fault: Fault { get }
}

extension Fault: FaultCause {
  var fault: Fault { self }

  /// Makes a fault of an error that was thrown on this end.
  package init(_ error: any Error) {
    let cause = error as? any FaultCause
    assert(cause != nil, "\(type(of: error)) has no fault")
    self = cause?.fault ?? Fault(.device, "\(error)")
  }
}

extension Violation: FaultCause {
  var fault: Fault { Fault(self) }
}

extension ConnectionError: FaultCause {
  var fault: Fault {
    switch code {
    case .lost, .closed, .refused, .timedOut, .stopped, .relay: Fault(.connection, description)
    case .violated: Fault(.violation, description)
    case .violation(let violation): Fault(violation)
    case .aborted(let reason): Fault(reason)
    case .told(let close): Fault(told: close)
    case .unproved: Fault(.device, description)
    case .stranger: .otherKey
    }
  }
}

extension SystemError: FaultCause {
  var fault: Fault { isDescriptorShortage ? Fault(shortOfDescriptors: description) : Fault(.device, description) }
}

extension TLSError: FaultCause {
  var fault: Fault { Fault(.device, description) }
}

extension TransferFailure: FaultCause {
  var fault: Fault { Fault(.device, message, hint: hint, about: subject, as: kind) }
}

extension ArchiveError: FaultCause {
  var fault: Fault {
    if cause?.isDescriptorShortage == true { return Fault(shortOfDescriptors: description) }
    return Fault(
      code.fault, description, hint: hint, for: limit == nil ? nil : .tooMuch, error: cause?.number,
      about: TransferFailure.Subject(name: name, bytes: limit ?? shortage?.bytes, items: shortage?.items))
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
    case .unknownKind: .unknownKind
    case .notInstalled: .notInstalled
    case .appInUse: .appInUse
    case .appHasData: .appHasData
    case .nothingNewer: .nothingNewer
    case .notAllowed: .notAllowed
    case .importFailed: .importFailed
    case .cancelled: .importCancelled
    case .exportFailed: .exportFailed
    case .source: .source
    case .storage: .storage
    case .torn: .connection
    // Only this device can do something about these.
    case .journal, .path, .stopped: .device
    }
  }
}

extension TransferFailure {
  /// The failure of an operation on this device while no other device takes part.
  package init(_ error: ArchiveError) { self = error.fault.failure }
}

extension Fault {
  /// The records of transfers cannot be read or written. Only this device's user can mend that.
  init(store description: String, _ cause: SystemError) {
    let message = "\(description): \(cause.words)"
    if cause.isDescriptorShortage {
      self.init(shortOfDescriptors: message)
      return
    }
    guard cause.isNoSpace else {
      self.init(
        .device, message, hint: "That directory must be yours to write to; PEER_HOME names it for the command.")
      return
    }
    self.init(
      .noSpace, message, hint: "Free some space there, or let PEER_HOME name a directory on another disk.",
      for: .recordsFull)
  }

  /// This process may not open one more file: no item, disk or directory is the cause.
  init(shortOfDescriptors message: String) {
    self.init(
      .device, message,
      hint: "The limit of open files is too low for peer: raise it, as by 'ulimit -n 1024', and start again.",
      for: .descriptors)
  }

  /// Another process works on a transfer.
  static func taken(_ identifier: String, by holder: CInt?) -> Fault {
    Fault(
      .inUse, "another \(holder.map { "process (\($0))" } ?? "process") works on the transfer \(identifier)",
      hint: "Wait until it is done, or end it.")
  }
}
