import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension PeerSender {
  /// The engine's sender, with all options.
  func sender() throws(TransferFailure) -> Sender {
    guard !paths.isEmpty else { throw TransferFailure(.usage, "no path to send", hint: "Name a path.") }
    let store = try options.memory.map { path throws(TransferFailure) in try path.memory() }
    let selection = options.selection
    for warning in selection.warnings { running.buffer.add(.notice(warning)) }
    return Sender(
      try options.sender(to: target), source: try source(selecting: selection), store: store
    ) { [buffer = running.buffer] in buffer.add($0) }
  }

  private func source(selecting selection: Selection) throws(TransferFailure) -> FolderSource {
    do throws(ArchiveError) {
      return try FolderSource(
        paths: paths.map(\.bytes), selecting: selection, withOwners: options.sendsOwners)
    } catch {
      throw TransferFailure(error)
    }
  }

  /// The program's choice of several devices.
  static func choice(
    among found: [Nearby], _ choose: @escaping @Sendable ([PeerDevice]) async -> PeerDevice?, unless ends: [CInt],
    at priority: TaskPriority
  ) throws(TransferFailure) -> Int {
    let devices = found.map { PeerDevice($0) }
    guard let chosen = try answer(unless: ends, at: priority, { await choose(devices) }) else {
      throw TransferFailure(.interrupted, "interrupted before a device was chosen")
    }
    guard let index = chosen.flatMap({ devices.firstIndex(of: $0) }) else {
      let names = found.map(\.shownName).joined(separator: ", ")
      throw TransferFailure(.usage, "several devices are waiting: \(names)", hint: "Choose one of them.")
    }
    return index
  }

  /// The program's code.
  static func code(
    of device: DeviceAddress, _ code: @escaping @Sendable (PeerDevice) async -> PeerCode?, unless ends: [CInt],
    at priority: TaskPriority
  ) throws(TransferFailure) -> PairingCode {
    let device = PeerDevice(device)
    guard let given = try answer(unless: ends, at: priority, { await code(device) }) else {
      throw TransferFailure(.interrupted, "interrupted before the code was entered")
    }
    guard let given else { throw TransferFailure(.pairing, "no code was entered") }
    return given.pairing
  }
}

extension PeerSender.Options {
  fileprivate var selection: Selection {
    var selection = Selection()
    for pattern in exclusions { selection.exclusions.append(Array(pattern.utf8)) }
    selection.isWithoutCaches = excludesCaches
    return selection
  }

  fileprivate func sender(to target: PeerSender.Target) throws(TransferFailure) -> Sender.Options {
    let streams = try streams.map { number throws(TransferFailure) in
      guard (1...Limits.streams).contains(number) else {
        throw TransferFailure(.usage, "the number of streams cannot be \(number)", hint: "Use 1 to \(Limits.streams).")
      }
      return UInt32(number)
    }
    if bytesPerSecond == 0 {
      throw TransferFailure(.usage, "the limit cannot be 0 bytes a second", hint: "Use nil for no limit.")
    }
    let (place, search) = try target.way
    return Sender.Options(
      target: place, search: search, label: ThisDevice.label(label), software: Version.software,
      streams: streams, limit: bytesPerSecond, compression: CompressionPreference(compression),
      giveUpAfter: givesUpAfter.patience)
  }
}

extension CompressionPreference {
  fileprivate init(_ compression: PeerSender.Compression) {
    self =
      switch compression {
      case .auto: .auto
      case .always: .always
      case .never: .never
      }
  }
}
