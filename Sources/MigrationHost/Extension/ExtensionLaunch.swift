import MigrationArchive
import MigrationSystem
import MigrationWire

/// What a migration of an app has to tell while it goes on.
package enum HostNews: Sendable {
  /// The extension wrote a line.
  case output(ExtensionOutput)
  /// Something that is worth knowing and ends nothing; a lower-case clause.
  case notice(String)
}

/// Starts an app's extension: confined, with a home, and with a channel.
struct ExtensionLaunch: Sendable {
  enum Purpose: Equatable, Sendable {
    case export
    /// Of what stands in this directory.
    case importing(from: String)

    var isImport: Bool { self != .export }
  }

  /// How long it may take until an extension says what it can do.
  private static let patience = Duration.seconds(30)

  let app: InstalledApp
  /// The extension has it as well, so that nobody else uses the app's data while it lives.
  let lock: AppLock
  let observe: @Sendable (HostNews) -> Void

  /// What keeps an extension in bounds here, said where it is not all that there should be.
  static var weakness: String? {
    let missing = Confinement.Strength.full.subtracting(Confinement.strength)
    if missing.contains(.files) {
      return "this kernel has no Landlock: the app's extension is not kept from the user's other files"
    }
    if missing.contains(.calls) {
      return "this machine has no filter for system calls: the app's extension is not kept from the network"
    }
    if missing.contains(.attributes) {
      return
        "this user may not have mounts of his own: the app's extension is not kept from changing modes and times of "
        + "other files"
    }
    return nil
  }

  /// Starts it, and returns once it has said that it can do what is wanted. The conversation heeds the stop signal.
  func start(
    _ purpose: Purpose, until stop: StopSignal
  ) throws(ArchiveError) -> ExtensionConversation {
    do {
      var conversation = try launch(purpose)
      do {
        conversation.heed(stop)
        try awaitReadiness(&conversation, purpose, stop)
        return conversation
      } catch {
        conversation.kill()
        let end = conversation.close()
        throw explained(error, end)
      }
    } catch let error as ArchiveError {
      throw error
    } catch let error as HostError {
      throw ArchiveError(.exportFailed, error.description)
    } catch let error as SystemError {
      throw ArchiveError(.exportFailed, "the extension of \(app.identifier) cannot be started", cause: error)
    } catch {
      throw ArchiveError(.exportFailed, "the extension of \(app.identifier) broke the rules of its host (\(error))")
    }
  }

  /// Removes what extensions left in their scratch directory.
  func sweep() { try? app.files.removeTree(scratch) }

  private var scratch: String { "scratch/\(app.identifier)" }

  private func launch(_ purpose: Purpose) throws -> ExtensionConversation {
    try app.files.removeTree(scratch)
    try app.files.makeDirectory(scratch)
    let path = app.files.path(scratch)
    var variables = app.variables(for: .extension(channel: ChildProcess.channelNumber))
    variables["TMPDIR"] = path
    // The runtime's own look at a crash needs another process, which it may not have.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    let settings = ChildProcess.Settings(
      executable: String(decoding: app.bundle.migrationExtension.executable, as: UTF8.self), arguments: [],
      environment: variables, directory: app.containerPath,
      confinement: ExtensionConfinement.rules(for: app, purpose, scratch: path))
    var pair = try PacketSocket.pair()
    let process = try ExtensionProcess(
      settings, channel: pair.takeOther().release(), lock: try lock.duplicate(), output: { observe(.output($0)) })
    return try ExtensionConversation(Channel(pair.takeOne()), to: process, attention: try Wakeup())
  }

  private func awaitReadiness(
    _ conversation: inout ExtensionConversation, _ purpose: Purpose, _ stop: StopSignal
  ) throws {
    let abilities = try abilities(of: &conversation, until: stop)
    guard abilities.contains(purpose.isImport ? .imports : .exports) else {
      throw ArchiveError(
        .exportFailed, "the extension of \(app.identifier) cannot \(purpose.isImport ? "import" : "export")")
    }
  }

  private func abilities(
    of conversation: inout ExtensionConversation, until stop: StopSignal
  ) throws -> ExtensionAbilities {
    let deadline = BootInstant.now().advanced(by: Self.patience)
    while !stop.isSet {
      let event = try conversation.next(until: deadline)
      switch consume event {
      case .message(.ready(let abilities), _): return abilities
      case .nothing where BootInstant.now() < deadline: continue
      default: throw Unready()
      }
    }
    throw ArchiveError(.stopped, "the transfer is over")
  }

  /// It ended, or said nothing, or something else first.
  private struct Unready: Error {}

  private func explained(_ error: any Error, _ end: ChildProcess.End) -> any Error {
    guard error is Unready else { return error }
    return ArchiveError(.exportFailed, "the extension of \(app.identifier) did not start as it should: it \(end.words)")
  }
}
