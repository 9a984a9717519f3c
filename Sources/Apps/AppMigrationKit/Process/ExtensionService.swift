internal import MigrationHost
internal import MigrationSystem
internal import MigrationWire

/// An extension's process. It reports its abilities, and serves its host's messages until the
/// channel ends.
///
/// The main thread runs the main actor, one thread receives, and the author's code runs in tasks.
/// The code may block any number of tasks: the end of the channel still ends the process at once.
final class ExtensionService: Sendable {
  /// The author's object. It is made once, as soon as the main actor runs.
  private let instance: Task<any AppMigrationExtension, Never>
  /// The current export or import.
  private let current = Mutex<Task<Void, Never>?>(nil)

  private init(_ type: (some AppMigrationExtension).Type) {
    instance = Task { @MainActor in type.init() }
  }

  /// Runs the process until it ends.
  static func run(_ type: (some AppMigrationExtension).Type) -> Never {
    guard let number = AppEnvironment.current()?.channel else {
      fail("this program is an app's migration extension; peer starts it, and it does nothing by itself", code: 2)
    }
    CurrentProcess.bufferOutputByLine()
    do {
      let process = ExtensionService(type)
      let socket = PacketSocket(owning: try Descriptor.inherited(number))
      let area = AppSurroundings.current.map { AppendableArea($0) }
      let host = try HostConnection(socket, appendingFrom: area) { message, host in process.obey(message, host) }
      process.greet(host, with: ExtensionWork.abilities(of: type))
      let thread = try OwnerThread(name: "host") { host.serve() }
      // This is not dispatchMain, which ends the main thread: timers and Thread.isMainThread would
      // stop working.
      withExtendedLifetime(thread) { RunLoop.main.run() }
    } catch {
      fail("the host cannot be reached: \(error)", code: 2)
    }
    fail("the main run loop has ended", code: 1)
  }

  /// Reports the abilities once the author's object is made, which the main actor does as soon as
  /// it runs. The host so detects an extension that ends or hangs while it makes the object, before
  /// it needs the extension.
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
    case .export(let platform, let options, let hearsFailures):
      host.tellsFailures(hearsFailures)
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

  /// Lets the author's code do its work, and reports the result to the host.
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
      // The host may end the process as soon as it has the result.
      UserDefaults.writeAll()
      CurrentProcess.flushOutput()
      // A host that has ended also ends the process.
      try? host.send(message)
    }
    current.withLock { $0 = task }
  }

  /// Reports the reason for the end, and ends the process.
  static func fail(_ sentence: String, code: CInt) -> Never {
    StandardStream.error.write("\(CommandLine.arguments.first ?? "extension"): \(sentence)\n")
    CurrentProcess.exitNow(code)
  }

  /// The work that a host may request from an extension, done with the author's object.
  struct ExtensionWork: Sendable {
    let instance: any AppMigrationExtension
    let host: HostConnection

    /// The abilities of an extension's type.
    static func abilities(of type: any AppMigrationExtension.Type) -> ExtensionAbilities {
      var abilities: ExtensionAbilities = []
      if type is any ResourcesExportingWithOptions.Type { abilities.insert(.exports) }
      if type is any ResourcesImporting.Type { abilities.insert(.imports) }
      return abilities
    }

    func describe() async throws -> ExportDescription {
      let exporter = try exporter
      return ExportDescription(of: exporter, estimate: await exporter.resourcesSizeEstimate)
    }

    func export(to platform: String, options: [AppRequest.Option]) async throws {
      try await exporter.export(
        to: host, platform: MigrationPlatform(platform),
        options: options.map { ($0.name, Data($0.value)) })
    }

    func importItems(in directory: [UInt8], from app: AppIdentity) async throws {
      guard let importer = instance as? any ResourcesImporting else { throw CocoaError(.featureUnsupported) }
      let request = ResourcesImportRequest(
        sourceAppIdentifier: MigrationAppIdentifier(
          storeIdentifier: .init(app.store), bundleIdentifier: app.bundleIdentifier, platform: .init(app.platform)),
        sourceVersion: app.version)
      let host = host
      // A host that has ended also ends the process.
      let notice = try await WatchedImport(importer).run(
        at: URL(directory: String(decoding: directory, as: UTF8.self)), request
      ) { try? host.send(.progress($0)) }
      if let notice { try? host.send(.notice(notice)) }
    }

    private var exporter: any ResourcesExportingWithOptions {
      get throws {
        guard let exporter = instance as? any ResourcesExportingWithOptions else {
          throw CocoaError(.featureUnsupported)
        }
        return exporter
      }
    }
  }
}

extension ExportDescription {
  /// The exporter's description: the given estimate, its version, and whether its data may be
  /// compressed.
  init(of exporter: any ResourcesExportingWithOptions, estimate: Int) {
    self.init(
      estimate: Int64(estimate), version: exporter.resourcesVersion, isCompressible: exporter.resourcesCompressible,
      options: exporter.optionNames)
  }
}

extension ResourcesExportingWithOptions {
  /// The names of its options; nil if they are too many to be told.
  fileprivate var optionNames: [String]? { OptionNames.list(OptionsType.allCases.lazy.map(\.rawValue)) }

  /// Exports with the requested options that this extension knows.
  func export(to destination: any ItemDestination, platform: MigrationPlatform, options: [(String, Data)]) async throws
  {
    var known: [OptionsType: Data] = [:]
    for (name, value) in options {
      if let option = OptionsType(rawValue: name) { known[option] = value }
    }
    try await exportResources(
      to: ResourcesArchiver(destination),
      request: MigrationRequestWithOptions(destinationPlatform: platform, options: known))
  }
}
