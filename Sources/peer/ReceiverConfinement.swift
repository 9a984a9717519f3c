import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Keeps the receiving process from writing to anything but some directories, where that leaves it these.
struct ReceiverConfinement {
  /// Finds out what becomes of the directories.
  var trial: ([[UInt8]]) -> ConfinementTrial.Outcome = { ConfinementTrial().outcome(within: $0, in: $0) }
  /// Confines the process for good; false where the kernel cannot.
  var keep: ([[UInt8]]) throws(SystemError) -> Bool = { directories throws(SystemError) in
    try Confinement.keepWriting(within: directories)
  }

  /// Confines the process, if nothing speaks against it; what the user is told.
  func apply(to directories: [[UInt8]]) throws(SystemError) -> TransferEvent {
    if case .refuses(let refused) = trial(directories) {
      return .unconfined(reason: Self.reason(refused), directories: refused)
    }
    guard try keep(directories) else { return .unconfined(reason: Self.noLandlock, directories: []) }
    return .confined(directories: directories)
  }

  private static let noLandlock = "this kernel cannot keep what is received within its directory"

  private static func reason(_ directories: [[UInt8]]) -> String {
    let names = directories.map { VisibleText.quoted($0) }.joined(separator: " and ")
    return
      "what is received is not kept within its directory by the kernel: with Landlock nothing could be written to \(names)"
  }
}
