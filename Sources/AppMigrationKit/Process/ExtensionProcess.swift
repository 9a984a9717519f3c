internal import MigrationHost
internal import MigrationSystem
internal import Synchronization

/// An extension's process: it says what it can do, and serves its host's messages until the channel ends.
///
/// The main thread runs the main actor, one thread receives, and the author's code runs in tasks, of which it may hold up as
/// many as it likes: the end of the channel ends the process at once.
final class ExtensionProcess: Sendable {
  /// The author's object. It is made as soon as the main actor runs, and once.
  private let instance: Task<any AppMigrationExtension, Never>
  /// The export or import that goes on.
  private let current = Mutex<Task<Void, Never>?>(nil)

  private init(_ type: (some AppMigrationExtension).Type) {
    instance = Task { @MainActor in type.init() }
  }

  /// Runs the process to its end.
  static func run(_ type: (some AppMigrationExtension).Type) -> Never {
    guard let number = AppEnvironment.current()?.channel else {
      fail("this is an app's migration extension, which peer starts; it does nothing by itself", code: 2)
    }
    CurrentProcess.bufferOutputByLine()
    do {
      let process = ExtensionProcess(type)
      let socket = PacketSocket(owning: try Descriptor.inherited(number))
      let host = try HostConnection(socket) { message, host in process.obey(message, host) }
      process.greet(host, with: ExtensionWork.abilities(of: type))
      let thread = try OwnerThread(name: "host") { host.serve() }
      // Not dispatchMain, which ends the main thread: timers and Thread.isMainThread would stop working.
      withExtendedLifetime(thread) { RunLoop.main.run() }
    } catch {
      fail("the host cannot be reached: \(error)", code: 2)
    }
    fail("the main run loop has ended", code: 1)
  }

  /// Says what it can do once the author's object is made, which the main actor does as soon as it runs: an extension that ends
  /// while that is made, or never comes back from it, is found out before its host needs it.
  private func greet(_ host: HostConnection, with abilities: ExtensionAbilities) {
    Task { @MainActor in
      _ = await instance.value
      do {
        try host.send(.ready(abilities))
      } catch {
        Self.fail("the host cannot be reached: \(error)", code: 2)
      }
    }
  }

  private func obey(_ message: HostMessage, _ host: HostConnection) {
    switch message {
    case .describe:
      start(for: host) { work in .described(try await work.describe()) }
    case .export(let platform, let options):
      start(for: host) { work in
        try await work.export(to: platform, options: options)
        return .ended(nil)
      }
    case .importItems(let directory, let app):
      start(for: host) { work in
        try await work.importItems(in: directory, from: app)
        return .ended(nil)
      }
    case .cancel:
      host.cancel()
      current.withLock { $0 }?.cancel()
    case .appended: break
    }
  }

  /// Lets the author's code do something, and tells the host what came of it.
  private func start(
    for host: HostConnection, _ body: @escaping @Sendable (ExtensionWork) async throws -> ExtensionMessage
  ) {
    let instance = instance
    let task = Task(executorPreference: BlockingExecutor.shared) {
      let message: ExtensionMessage
      do {
        let result = try await body(ExtensionWork(instance: await instance.value, host: host))
        message = host.hasThrownCancellation ? .ended(.swallowedCancellation) : result
      } catch {
        message = .ended(ReportedError(error))
      }
      // The host may end the process as soon as it knows.
      Preferences.write()
      CurrentProcess.flushOutput()
      // A host that is gone ends the process by itself.
      try? host.send(message)
    }
    current.withLock { $0 = task }
  }

  /// Says why the process ends, and ends it.
  static func fail(_ sentence: String, code: CInt) -> Never {
    StandardStream.error.write("\(CommandLine.arguments.first ?? "extension"): \(sentence)\n")
    CurrentProcess.exitNow(code)
  }
}
