internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire
internal import Synchronization

/// An extension's process: it says what it can do, and serves its host's messages until the channel ends.
///
/// The main thread runs the main actor, one thread receives, and the author's code runs in tasks, of which it may hold up as
/// many as it likes: the end of the channel ends the process at once.
final class ExtensionProcess: Sendable {
  private let host: HostConnection
  /// Made when it is needed first, and once.
  private let work: Task<ExtensionWork, Never>
  /// The export or import that goes on.
  private let current = Mutex<Task<Void, Never>?>(nil)

  private init(_ type: (some AppMigrationExtension).Type, host: HostConnection) {
    self.host = host
    work = Task { @MainActor in ExtensionWork(instance: type.init(), host: host) }
  }

  /// Runs the process to its end.
  static func run(_ type: (some AppMigrationExtension).Type) -> Never {
    guard let number = AppEnvironment.current()?.channel else {
      fail("this is an app's migration extension, which peer starts; it does nothing by itself", code: 2)
    }
    do {
      let socket = PacketSocket(owning: try Descriptor.inherited(number))
      let sending = try socket.duplicate()
      let host = HostConnection(Channel(sending))
      let process = ExtensionProcess(type, host: host)
      try host.send(.ready(ExtensionWork.abilities(of: type)))
      let channel = Mutex<Channel?>(Channel(socket))
      let thread = try OwnerThread(name: "host") {
        guard let channel = channel.withLock({ $0.take() }) else { return }
        process.serve(channel)
      }
      withExtendedLifetime(thread) { RunLoop.main.run() }
    } catch {
      fail("the host cannot be reached: \(error)", code: 2)
    }
    fail("the main run loop has ended", code: 1)
  }

  /// Receives messages until there are no more, and ends the process then.
  private func serve(_ channel: consuming Channel) -> Never {
    do {
      while true {
        let arrival = try channel.receive()
        switch consume arrival {
        case .message(let incoming): try handle(HostMessage(incoming.bytes))
        case .nothing: continue
        case .end: CurrentProcess.exitNow(0)
        }
      }
    } catch {
      Self.fail("the host says what it must not: \(error)", code: 1)
    }
  }

  private func handle(_ message: HostMessage) throws(Violation) {
    switch message {
    case .describe:
      start { work in .described(try await work.describe()) }
    case .export(let platform, let options):
      start { work in
        try await work.export(to: platform, options: options)
        return .ended(nil)
      }
    case .importItems(let directory, let app):
      start { work in
        try await work.importItems(in: directory, from: app)
        return .ended(nil)
      }
    case .appended(let refusal): try host.answer(refusal)
    case .cancel:
      host.cancel()
      current.withLock { $0 }?.cancel()
    }
  }

  /// Lets the author's code do something, and tells the host what came of it.
  private func start(_ body: @escaping @Sendable (ExtensionWork) async throws -> ExtensionMessage) {
    let (work, host) = (work, host)
    let task = Task(executorPreference: BlockingExecutor.shared) {
      let message: ExtensionMessage
      do {
        message = try await body(work.value)
      } catch {
        message = .ended(ReportedError(error))
      }
      // The host may end the process as soon as it knows.
      CurrentProcess.flushOutput()
      try? host.send(message)
    }
    current.withLock { $0 = task }
  }

  private static func fail(_ sentence: String, code: CInt) -> Never {
    StandardStream.error.write("\(CommandLine.arguments.first ?? "extension"): \(sentence)\n")
    CurrentProcess.exitNow(code)
  }
}
