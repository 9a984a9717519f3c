import MigrationArchive
import MigrationSystem
import MigrationWire

/// The news of an app's migration while it is running.
package enum HostNews: Sendable {
  /// The extension wrote a line.
  case output(ExtensionOutput)
  /// A notice that does not end the migration; a lower-case clause.
  case notice(String)
  /// A notice about this machine, which does not confine extensions completely.
  case weakness(String)
  /// An append has failed, and the exporter received the error. For its author.
  case refused(ReportedError)
  /// An append of the file or directory at this place has begun. For its author.
  case appended([UInt8])
}

/// Starts an app's extension: confined, with a home, and with a channel.
struct ExtensionLaunch: Sendable {
  enum Purpose: Equatable, Sendable {
    case export
    /// To ask for its abilities: it may change nothing.
    case probing
    /// To import the data in this directory.
    case importing(from: String)

    var isImport: Bool { if case .importing = self { true } else { false } }
  }

  let site: ExtensionSite
  /// Also lifts the limit of the start, for an author with a debugger.
  var idleLimit = IdleLimit.standard
  /// How many seconds an extension may take to report its abilities; time in which it is stopped
  /// does not count.
  var patience = ExtensionWatch.startLimit
  let observe: @Sendable (HostNews) -> Void
  /// The notices so far that every session would repeat.
  private let said = Condition<Set<String>>([])

  /// Tells a notice, and a second time nothing.
  func tellOnce(_ notice: String) {
    if said.withLock({ $0.insert(notice).inserted }) { observe(.notice(notice)) }
  }

  /// Starts the extension, and returns when it has reported the required abilities. The
  /// conversation uses the stop signal.
  func start(
    _ purpose: Purpose, until stop: StopSignal
  ) throws(Failure) -> ExtensionChannel {
    try start(purpose, until: stop) { (abilities) throws(Failure) in
      try check(abilities, allow: purpose.isImport ? .imports : .exports)
    }
  }

  /// Starts the extension to ask for its abilities, and lets it end.
  func probe(_ purpose: Purpose, until stop: StopSignal) throws(Failure) -> ExtensionAbilities {
    var heard: ExtensionAbilities = []
    let conversation = try start(purpose, until: stop) { heard = $0 }
    _ = conversation.close()
    sweep()
    return heard
  }

  /// Fails unless an extension has the required abilities: to export, or to import.
  func check(_ abilities: ExtensionAbilities, allow wanted: ExtensionAbilities) throws(Failure) {
    guard !abilities.contains(wanted) else { return }
    let lack =
      if abilities.isEmpty {
        "can neither export nor import, since its type adopts none of the protocols for that"
      } else if wanted == .exports {
        "can import, and cannot export"
      } else {
        "can export, and cannot import"
      }
    throw Failure(.exportFailed, "the extension of \(site.identifier) \(lack)")
  }

  /// Starts the extension, and returns when it has reported its abilities and they suffice. A fault
  /// of the extension is `exportFailed`; `storage` and `noSpace` are faults of this device.
  private func start(
    _ purpose: Purpose, until stop: StopSignal, judge: (ExtensionAbilities) throws(Failure) -> Void
  ) throws(Failure) -> ExtensionChannel {
    do {
      var conversation = try launch(purpose)
      do {
        conversation.heed(stop)
        try judge(try abilities(of: &conversation, until: stop))
        return conversation
      } catch is ExtensionChannel.Gone {
        throw ended(conversation.end())
      } catch {
        conversation.kill()
        _ = conversation.close()
        throw error
      }
    } catch let error as Failure {
      throw error
    } catch let error as SystemError {
      throw failure(error)
    } catch {
      throw Failure(
        .exportFailed, "the extension of \(site.identifier) violated the protocol of its host (\(error))")
    }
  }

  /// Removes the files that extensions left in their scratch directory.
  func sweep() { site.sweep() }

  private func launch(_ purpose: Purpose) throws -> ExtensionChannel {
    try site.prepareScratch()
    let settings = ChildProcess.Settings(
      executable: String(decoding: site.migrationExtension.executable, as: UTF8.self), arguments: [],
      environment: site.variables(channel: ChildProcess.channelNumber), directory: site.container,
      confinement: site.isConfined ? site.confinement(for: purpose) : nil)
    var pair = try PacketSocket.pair()
    let process = try ExtensionProcess(
      settings, channel: pair.takeOther().release(), lock: try site.duplicateLock(), output: { observe(.output($0)) })
    return ExtensionChannel(Channel(pair.takeOne()), to: process, try Poller(), attention: try Wakeup())
  }

  private func abilities(
    of conversation: inout ExtensionChannel, until stop: StopSignal
  ) throws -> ExtensionAbilities {
    var watch = ExtensionWatch(limit: idleLimit == .off ? .off : .seconds(patience), now: ExtensionWatch.now())
    while !stop.isSet {
      let event = try conversation.next(until: watch.wakeTime)
      switch consume event {
      case .message(.ready(let abilities), _): return abilities
      case .nothing:
        let isStopped = watch.isIdle && conversation.isStopped
        if case .hung? = watch.look(now: ExtensionWatch.now(), isStopped: isStopped) {
          throw notStarted("did not say within \(ExtensionWatch.words(patience)) what it can do, and was ended")
        }
      case .ended: throw ExtensionChannel.Gone()
      case .message(_, _): throw notStarted("sent another message before its abilities, and was ended")
      }
    }
    throw Failure(.stopped, "the transfer has ended")
  }

  /// The error for a process that has ended by itself; an exit has a usual reason.
  private func ended(_ end: ChildProcess.End?) -> Failure {
    let hint: String? =
      switch end {
      case .exited(Self.withoutLibraries):
        "Link its program with --static-swift-stdlib, or put the missing libraries into the bundle."
      case .exited: "Its program must be that of the extension's type, which is marked with @main."
      default: nil
      }
    return notStarted(end.words, hint: hint)
  }

  /// The status of a program whose libraries the loader does not find.
  private static let withoutLibraries: CInt = 127

  private func notStarted(_ clause: String, hint: String? = nil) -> Failure {
    Failure(
      .exportFailed, "the extension of \(site.identifier) did not start as it should: it \(clause)", hint: hint)
  }

  /// The error for a refusal of the kernel: the program itself cannot be run, or this device could
  /// not run any program.
  func failure(_ error: SystemError) -> Failure {
    if error.isBeingWritten {
      return Failure(
        .exportFailed,
        "the extension of \(site.identifier) cannot be started: another process still writes its program",
        hint: "Wait until the build or the copy is complete, and try again.")
    }
    if error.isOfProgram, error.isPermissionDenied, isScript {
      return Failure(
        .exportFailed,
        "the extension of \(site.identifier) cannot be started: its program is a script, and a confined extension may not "
          + "run the script's interpreter",
        hint: "Its program must be a compiled one.")
    }
    let loader = error.isOfProgram ? Self.loader(error) : ""
    return Failure(
      error.isOfProgram ? .exportFailed : .storage,
      "the extension of \(site.identifier) cannot be started\(loader)", cause: error)
  }

  private var isScript: Bool {
    guard let file = try? Descriptor.open(site.migrationExtension.executable) else { return false }
    var start = [UInt8](repeating: 0, count: 2)
    let count = try? file.readNext(into: &start)
    return count == 2 && start == Array("#!".utf8)
  }

  /// For a program whose loader is missing, the kernel reports only that a file does not exist.
  private static func loader(_ error: SystemError) -> String {
    error.isNotFound ? " (where the file is there, the loader that it names is not)" : ""
  }
}
