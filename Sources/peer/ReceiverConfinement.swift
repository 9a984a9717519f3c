import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Confines the writes of this process to PEER_HOME, where an app's data is too, and to the
/// destination of folders, and keeps it from other programs.
func confine(_ options: ReceiveOptions, home: [UInt8], _ output: Output) throws(Failure) {
  do {
    var directories = [try Directory.openOrMake(home, mode: 0o700).canonicalPath()]
    if options.app == nil { directories.insert(try destination(options).canonicalPath(), at: 0) }
    let confinement = ReceiveOptions.ReceiverConfinement(looksUsersUp: options.owners)
    for event in try confinement.apply(to: directories) { output.handle(event) }
  } catch {
    throw Failure(error)
  }
}

extension ReceiveOptions {
  /// Confines the writes of the receiving process to some directories, if the process can still write
  /// to them, and keeps it from other programs.
  struct ReceiverConfinement {
    /// Whether users are looked up by their names, which a service of this machine may know.
    var looksUsersUp = false
    /// Tests to which of the directories the process could write no longer.
    var trial: ([[UInt8]]) -> [[UInt8]] = { ConfinementTrial.refused(within: $0, of: $0) }
    /// Confines the process for good; false where the kernel cannot.
    var keep: ([[UInt8]]) throws(SystemError) -> Bool = { directories throws(SystemError) in
      try Confinement.keepWriting(within: directories)
    }

    /// Keeps the process from other programs for good; false where that is not possible.
    var leave: (Bool) throws(SystemError) -> Bool = { services throws(SystemError) in
      try Confinement.leaveOthers(reachesServices: services)
    }

    /// Confines the process as far as nothing prevents it; returns the events for the user.
    func apply(to directories: [[UInt8]]) throws(SystemError) -> [TransferEvent] {
      let event = try confineWriting(to: directories)
      return try leave(looksUsersUp) ? [event] : [event, .notice(Self.noFilter)]
    }

    private func confineWriting(to directories: [[UInt8]]) throws(SystemError) -> TransferEvent {
      let refused = trial(directories)
      guard refused.isEmpty else { return .unconfined(reason: Self.reason(refused), directories: refused) }
      guard try keep(directories) else { return .unconfined(reason: Self.noLandlock, directories: []) }
      return .confined(directories: directories)
    }

    private static let noFilter = "this computer cannot keep the receiver from its other programs"
    private static let noLandlock = "this kernel cannot confine the receiver to its directory"

    private static func reason(_ directories: [[UInt8]]) -> String {
      let names = directories.map { VisibleText.quoted($0) }.joined(separator: " and ")
      return
        "the receiver is not confined to its directory: with Landlock, it could not write to \(names)"
    }
  }
}
