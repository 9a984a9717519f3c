import MigrationApps
import MigrationArchive
import MigrationSystem
import MigrationWire

/// Loads settings in a process of its own, which was started before this one was confined. That
/// process loads only what its own copy of the descriptions allows, and starts no program but one of the
/// system that it found before anything arrived.
final class SettingsLoader: Sendable {
  private let socket: Mutex<SharedDescriptor>

  private init(_ socket: consuming Descriptor) { self.socket = Mutex(SharedDescriptor(socket)) }

  /// Starts the process, if the system has dconf. This process has no other thread yet.
  static func start(for known: KnownApps, home: [UInt8]) -> SettingsLoader? {
    guard let dconf = Dconf(), var pair = try? PacketSocket.pair() else { return nil }
    let end = pair.takeOther()
    do throws(SystemError) {
      let place = try Directory.open(home)
      let path = try place.canonicalPath()
      try CurrentProcess.detach(named: "peer-settings", with: pair.takeOne()) { socket in
        serve(socket, dconf, known.catalogue, home: path)
      }
    } catch {
      return nil
    }
    return SettingsLoader(end.release())
  }

  /// Loads the settings of an app that stand in their place.
  func load(_ identifier: String) throws(Failure) {
    let words: String
    do {
      words = try socket.withLock { socket in
        var channel = Channel(PacketSocket(owning: try socket.descriptor.duplicate()))
        try channel.send(Array(identifier.utf8))
        guard case .packet(let answer) = try channel.receive() else { return "the helper process has ended" }
        return String(decoding: answer.bytes, as: UTF8.self)
      }
    } catch {
      words = "the helper process has ended"
    }
    if words.isEmpty { return }
    throw Failure(
      .importFailed, "the settings cannot be loaded: \(VisibleText.of(words))",
      hint: DataHint.noDesktop.text)
  }

  // MARK: The other process

  private static func serve(
    _ socket: consuming PacketSocket, _ dconf: Dconf, _ catalogue: AppCatalogue, home: [UInt8]
  ) {
    var channel = Channel(socket)
    while let arrival = try? channel.receive(), case .packet(let request) = arrival {
      let identifier = String(decoding: request.bytes, as: UTF8.self)
      var words = ""
      do throws(SystemError) {
        try load(identifier, dconf, catalogue, in: try Directory.open(home))
      } catch {
        words = error.words
      }
      guard (try? channel.send(Array(words.utf8))) != nil else { return }
    }
  }

  /// Loads the settings, after the present settings are kept in a file beside.
  private static func load(
    _ identifier: String, _ dconf: Dconf, _ catalogue: AppCatalogue, in home: borrowing Directory
  ) throws(SystemError) {
    guard let keys = catalogue.descriptions[identifier]?.settings, !keys.isEmpty else {
      throw SystemError(reason: "no description names settings of it", operation: "load")
    }
    let place = AppCatalogue.settingsPlace(of: identifier)
    let (folder, name) = FileContent.split(place)
    let directory = try home.openDirectoryBeneath(folder)
    let content = try directory.openChild(name).readAll(limit: DesktopSettings.longest)
    guard let settings = DesktopSettings(dump: content)?.only(keys), let present = dconf.settings()?.only(keys) else {
      throw SystemError(reason: "dconf or its output cannot be read", operation: "load")
    }
    if settings.isEmpty { return }
    if !present.isEmpty { try keep(present, as: name + Array(".replaced".utf8), in: directory) }
    let file = Array(".loading".utf8)
    try? directory.remove(file)
    let input = try directory.openOrCreateFile(file)
    try directory.remove(file)
    try dconf.load(settings, through: input)
  }

  /// Writes settings to a new file: `ID.replaced`, or `ID.replaced-2`.
  private static func keep(
    _ settings: DesktopSettings, as name: [UInt8], in directory: borrowing Directory
  ) throws(SystemError) {
    let content = settings.dump
    for number in 1...1000 {
      let name = number == 1 ? name : name + Array("-\(number)".utf8)
      do throws(SystemError) {
        let file = try directory.createFile(name)
        try file.write(at: 0, content.span)
        return try file.synchronizeData()
      } catch {
        guard error.isAlreadyExisting else { throw error }
        // A load that was interrupted has kept them already.
        if (try? directory.openChild(name).readAll(limit: DesktopSettings.longest)) == content { return }
      }
    }
  }
}
