import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Confines the writes of the receiving process to some directories, if the process can still write
/// to them.
struct ReceiverConfinement {
  /// Tests whether the process could still write to the directories.
  var trial: ([[UInt8]]) -> ConfinementTrial.Outcome = { ConfinementTrial().outcome(within: $0, in: $0) }
  /// Confines the process for good; false where the kernel cannot.
  var keep: ([[UInt8]]) throws(SystemError) -> Bool = { directories throws(SystemError) in
    try Confinement.keepWriting(within: directories)
  }

  /// Confines the process if nothing prevents it; returns the event for the user.
  func apply(to directories: [[UInt8]]) throws(SystemError) -> TransferEvent {
    if case .refuses(let refused) = trial(directories) {
      return .unconfined(reason: Self.reason(refused), directories: refused)
    }
    guard try keep(directories) else { return .unconfined(reason: Self.noLandlock, directories: []) }
    return .confined(directories: directories)
  }

  private static let noLandlock = "this kernel cannot confine the receiver to its directory"

  private static func reason(_ directories: [[UInt8]]) -> String {
    let names = directories.map { VisibleText.quoted($0) }.joined(separator: " and ")
    return
      "the receiver is not confined to its directory: with Landlock, it could not write to \(names)"
  }
}
