import MigrationArchive
import MigrationDiscovery
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension PeerSender {
  /// The program's choice of several devices.
  static func choice(
    among found: [DeviceAddress], _ choose: @escaping @Sendable ([PeerDevice]) async -> PeerDevice?,
    until end: CInt, at priority: TaskPriority
  ) throws(Failure) -> Int {
    let devices = found.map { PeerDevice($0) }
    guard let chosen = try answer(until: end, at: priority, { await choose(devices) }) else {
      throw Failure(.interrupted, "interrupted before a device was chosen")
    }
    guard let index = chosen.flatMap({ devices.firstIndex(of: $0) }) else {
      let names = found.map(\.shownName).joined(separator: ", ")
      throw Failure(.usage, "several devices are waiting: \(names)", hint: "Choose one of them.")
    }
    return index
  }

  /// The program's code.
  static func code(
    of device: DeviceAddress, _ code: @escaping @Sendable (PeerDevice) async -> PeerCode?, until end: CInt,
    at priority: TaskPriority
  ) throws(Failure) -> PairingCode {
    let device = PeerDevice(device)
    guard let given = try answer(until: end, at: priority, { await code(device) }) else {
      throw Failure(.interrupted, "interrupted before the code was entered")
    }
    guard let given else { throw Failure(.pairing, "no code was entered") }
    return given.pairing
  }

  /// A completed search that has found one device.
  fileprivate struct FoundDevice: NearbySearch {
    let device: NearbyDevice

    func look(for seconds: Double, unless stop: StopSignal) throws(Failure) -> [NearbyDevice] { [device] }
  }
}

extension PeerSender.Options {
  var selection: Selection {
    var selection = Selection()
    for pattern in exclusions { selection.exclusions.append(Array(pattern.utf8)) }
    selection.isWithoutCaches = excludesCaches
    return selection
  }

  /// The options of the transfer itself, with the nearby devices as the target.
  var transfer: Sender.Options {
    get throws(Failure) {
      if let streams, !(1...Limits.streams).contains(streams) {
        throw Failure(.usage, "the number of streams cannot be \(streams)", hint: "Use 1 to \(Limits.streams).")
      }
      if bytesPerSecond == 0 {
        throw Failure(.usage, "the limit cannot be 0 bytes a second", hint: "Use nil for no limit.")
      }
      var transfer = Sender.Options(
        label: label, streams: streams.map { UInt32($0) }, limit: bytesPerSecond,
        compression: SenderEngine.CompressionPreference(rawValue: compression.rawValue) ?? .auto,
        giveUpAfter: givesUpAfter.patience)
      transfer.waitsInLine = waitsInLine
      return transfer
    }
  }
}

extension PeerSender.Target {
  /// Reads the address of a device, as `peer send --to` does: `HOST`, `HOST:PORT`, `[IPv6]:PORT`.
  public init(_ text: String) throws(PeerError) {
    let hint = "Use the address that the other device shows."
    let place = try HostAndPort.ParseError.mapped(HostAndPort.parse(text, defaultPort: Limits.defaultPort)) {
      PeerError(.usage, $0.description, hint: hint)
    }
    guard let host = place.host else { throw PeerError(.usage, "missing host", hint: hint) }
    self = .host(host, port: place.port)
  }

  /// The target for the engine: the receiver's place, and the search that finds it.
  var route: (place: Sender.Options.Target, search: any NearbySearch) {
    get throws(Failure) {
      switch self {
      case .nearby: return (.nearby, NetworkSearch())
      case .host(let host, let port):
        guard port != 0 else { throw Failure(.usage, "port 0 is not valid") }
        return (.host(HostAndPort(host: try PlainHost.checked(host), port: port)), NetworkSearch())
      case .device(let device):
        guard let found = device.found else {
          throw Failure(
            .usage, "the port of \(device) is unknown", hint: "Search for it again, or name its address and port.")
        }
        return (.nearby, PeerSender.FoundDevice(device: found))
      }
    }
  }
}

/// The name or the address of a device, without a port.
enum PlainHost {
  /// The host, without the brackets of an IPv6 address. Fails if the text is not a host.
  static func checked(_ text: String) throws(Failure) -> String {
    let wrong = "\(VisibleText.quoted(Array(text.utf8))) is not the name or address of a device"
    // No device has port 0: another port is in the text.
    guard let place = try? HostAndPort.parse(text, defaultPort: 0), place.port == 0, let host = place.host else {
      throw Failure(.usage, wrong, hint: "Give the port separately.")
    }
    return host
  }
}

extension PeerPath {
  /// The store of unfinished transfers in this directory, which is created if it is missing. A
  /// directory that other users may change is refused.
  func memory() throws(Failure) -> TransferStore {
    let hint = "Name a directory of your own."
    _ = try Failure.wrapping(
      .refused, "transfers cannot be remembered in \(VisibleText.quoted(bytes))", hint: hint,
      Directory.openOrMake(bytes, mode: 0o700))
    try TransferStore.check(bytes, hint: hint)
    return TransferStore(home: bytes)
  }
}

extension Duration {
  /// The duration in seconds.
  var seconds: Double { self / .seconds(1) }

  /// The duration in seconds, as a time to reconnect: at least 0, and at most a month.
  var patience: Double { min(max(0, seconds), ThisDevice.longestPatience) }
}
