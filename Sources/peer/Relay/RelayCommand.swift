import MigrationArchive
import MigrationEngine
import MigrationRelay
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The options of `peer relay`.
struct RelayOptions: Equatable, Sendable {
  var tokenFile: [UInt8]
  var listen = HostAndPort(host: nil, port: Limits.relayPort)
  /// The names by which devices know the relay; every name, if there is none.
  var names: Set<String> = []
  var rate: UInt64?
  var daily: UInt64?
  var monthly: UInt64?
  var places: Int?
  /// Whether a program reads the output.
  var json = false
}

extension RelayOptions {
  /// Parses the words after `peer relay`.
  init(_ arguments: Arguments) throws(Failure) {
    try arguments.refuseOperands()
    guard let tokenFile = arguments.bytes("--token-file"), !tokenFile.isEmpty else {
      throw .usage("missing option: --token-file", hint: "Name a file for the token: it is made if it is missing.")
    }
    self.tokenFile = tokenFile
    if let text = try arguments.text("--listen") {
      listen = try HostAndPort.ParseError.mapped(HostAndPort.parseListening(text, defaultPort: Limits.relayPort)) {
        Failure.usage("--listen: \($0)", hint: "Write --listen PORT, or --listen HOST:PORT.")
      }
    }
    for bytes in arguments.all("--name") {
      do {
        names.insert(try HostAndPort.parse(VisibleText.of(bytes), defaultPort: Limits.relayPort).text)
      } catch {
        throw .usage("--name: \(error)", hint: "Write HOST or HOST:PORT, as users write it after --via.")
      }
    }
    rate = try arguments.rate("--limit")
    daily = try arguments.size("--daily")
    monthly = try arguments.size("--monthly")
    places = try arguments.number(
      "--places", in: RelayLimits.places, otherwise: "\(RelayLimits.usualPlaces) devices may wait at one address")
    json = arguments.has("--json")
  }
}

/// `peer relay`: a relay for other devices.
extension RelayOptions {
  /// Runs the relay until a signal, and returns the program's exit code.
  func perform() -> Int32 {
    Answer.give(json: json) { (_) throws(Failure) in
      try run()
      return Rendering()
    }
  }

  private func run() throws(Failure) {
    let settings = try self.settings()
    do throws(SystemError) {
      // This must precede all other threads.
      let signals = try SignalSource()
      let limit = try CurrentProcess.raiseDescriptorLimit()
      CurrentProcess.keepLittleMemory()
      let socket = try ListeningSocket(host: listen.host, port: listen.port)
      let log = Log(json: json)
      log.write(listening: socket.reachableAddresses.map(\.hostDescription), socket.port)
      if limit < UInt64(RelayLoop.descriptors) {
        log.write(
          notice: "this process may have only \(limit) files open, and a busy relay needs \(RelayLoop.descriptors)")
      }
      let reload = { (tokens: NewTokens) in Self.reload(tokenFile, tokens, log) }
      let loop = try RelayLoop(settings, on: socket, until: signals, reload: reload) { log.counters = $0 }
      ServiceManager().tellReady()
      try log.start()
      try loop.run()
      log.end()
    } catch {
      let hint =
        error.isAddressInUse
        ? "Another program uses port \(listen.port); choose another with --listen." : nil
      throw Failure(.failed, error.description, hint: hint)
    }
  }

  private func settings() throws(Failure) -> RelaySettings {
    var settings = RelaySettings(tokens: try Self.tokens(tokenFile))
    (settings.names, settings.rate) = (names, rate)
    settings.daily = daily ?? settings.daily
    settings.monthly = monthly ?? settings.monthly
    settings.places = places ?? settings.places
    return settings
  }

  /// Reads the tokens again, on a thread of its own. A file that cannot be used changes nothing.
  private static func reload(_ path: [UInt8], _ tokens: NewTokens, _ log: Log) {
    let read = { @Sendable in
      do throws(Failure) {
        let all = try Self.tokens(path, orMake: false)
        tokens.give(all)
        log.write(notice: "the tokens were read again: there are \(all.count)")
      } catch {
        log.write(notice: "the tokens stay as they are: \(error.message)")
      }
    }
    _ = try? OwnerThread(name: "tokens", read)
  }

  /// The tokens of a file, one on each line. A missing file is made, with a new one.
  static func tokens(_ path: [UInt8], orMake makes: Bool = true) throws(Failure) -> [RelayToken] {
    let hint = "Write one token on each line: 32 hexadecimal digits. A missing file is made."
    if makes, (try? Directory.status(of: path)) == nil {
      let token: RelayToken
      do throws(SystemError) { token = RelayToken(try SystemRandom.bytes(RelayToken.size)) } catch {
        throw Failure(error)
      }
      try SecretFile.make(path, "\(token.text)\n", orElse: hint)
    }
    var bytes = try SecretFile(option: "--token-file", content: "tokens", hint: hint).read(path)
    defer { cleanse(&bytes) }
    let name = VisibleText.quoted(path)
    var tokens: [RelayToken] = []
    for (number, line) in bytes.split(separator: UInt8(ascii: "\n")).enumerated() {
      guard let token = RelayToken(typed: Array(line)) else {
        throw .usage("--token-file: line \(number + 1) of \(name) is not a token", hint: hint)
      }
      tokens.append(token)
    }
    guard !tokens.isEmpty else { throw .usage("--token-file: \(name) has no token", hint: hint) }
    guard tokens.count <= RelayLimits.tokens else {
      throw .usage("--token-file: \(name) has more than \(RelayLimits.tokens) tokens", hint: "Remove some of them.")
    }
    return tokens
  }

  /// The log of a relay. It names no address of a device. A thread of its own writes it, so that a log
  /// that takes nothing stops no transfer; the newest counters replace older ones.
  private final class Log: Sendable {
    /// How often counters are written, in seconds, if they have changed.
    private static let pause = 60.0

    private let json: Bool
    private let newest = Mutex(RelayCounters())

    init(json: Bool) { self.json = json }

    /// The newest counters.
    var counters: RelayCounters {
      get { newest.withLock { $0 } }
      set { newest.withLock { $0 = newValue } }
    }

    func write(listening addresses: [String], _ port: UInt16) {
      write("listening", ["addresses": addresses, "port": port, "from": [String]()], "Relaying on port \(port).")
    }

    func write(notice text: String) { write("notice", ["message": text], "peer: note: \(text)") }

    /// Writes the counters from now on.
    func start() throws(SystemError) {
      _ = try OwnerThread(name: "output") { [self] in
        guard var poller = try? Poller() else { return }
        var last = RelayCounters()
        while true {
          var nothing: [Poller.Interest] = []
          _ = try? poller.wait(&nothing, until: BootInstant(seconds: BootInstant.now().seconds + Self.pause))
          let counters = counters
          if counters != last { write(counters) }
          last = counters
        }
      }
    }

    /// Writes the last counters.
    func end() { write(counters) }

    private func write(_ counters: RelayCounters) {
      let refused = counters.refused.values.reduce(0, +)
      write(
        "relay",
        [
          "places": counters.places, "calls": counters.calls, "newcomers": counters.newcomers,
          "joined": counters.joined, "bytes": counters.bytes, "refused": refused,
          "wrongTokens": counters.refused[.token] ?? 0, "dropped": counters.dropped,
        ],
        "\(counters.places) waiting, \(counters.calls) connected now; since the start: "
          + "\(Figures.count(counters.joined, "connection")), \(Figures.size(counters.bytes)), "
          + "\(Figures.count(refused)) refused, \(Figures.count(counters.dropped)) dropped")
    }

    private func write(_ event: String, _ members: JSONMembers, _ text: String) {
      if json {
        let time: JSONMembers = ["time": CalendarTime.text(Timestamp.coarseNow().seconds)]
        StandardStream.output.write(Rendering.event(event, members + time).standardOutput)
      } else {
        StandardStream.error.write(text + "\n")
      }
    }
  }
}
