import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Waits for another device and receives what it sends: one transfer, or one after the other.
///
/// ``receive()`` does it, and ``events`` tell what happens meanwhile, the code to show first. Cancelling the task that waits for
/// it ends the transfer as Ctrl-C ends `peer receive`: what has arrived is kept.
public final class PeerReceiver: Sendable {
  /// What becomes of what arrives where a name is taken.
  public enum Existing: String, Hashable, Sendable {
    /// The whole transfer is refused before anything is sent.
    case refuse
    /// Folders are merged, and what is there stays as it is.
    case skip
    /// What arrives gets another name, such as `photos (2)`.
    case keepBoth = "keep-both"
    /// Folders are merged; files and links take the places of files and links, each in one step.
    case replace
  }

  /// What can be said of a wait.
  public struct Options: Sendable {
    /// What other devices call this one; nil for the host name.
    public var label: String?
    /// The address to listen at; nil for every address of this device.
    public var host: String?
    /// The port; 0 for any that is free, nil for 47470.
    public var port: UInt16?
    /// Whether this device is made known on its networks while a sender may come, so that it needs no address.
    public var isAnnounced = true
    /// The addresses and ranges that senders may pair from, such as `192.0.2.0/24`; none for all.
    public var from: [String] = []
    /// What becomes of names that are taken; nil for what was said when the transfer began, or a refusal.
    public var existing: Existing?
    /// The most bytes that are taken of one transfer, what has arrived of it before included; nil for as many as there is room for.
    public var maximumBytes: UInt64?
    /// Whether owners and groups are kept as the sender names them; for root.
    public var keepsOwners = false
    /// Whether set-user-ID and set-group-ID bits are kept.
    public var keepsSetIDBits = false
    /// The code that the sender has too; nil where this device makes codes, and events tell them. It works once. Not together
    /// with `staysOpen`.
    public var code: PeerCode?
    /// Whether one transfer after the other is taken, each with a new code, until the task is cancelled. Each tells its end by
    /// ``PeerEvent/done(_:)`` or ``PeerEvent/failed(_:)``; the last of these is the end of all.
    public var staysOpen = false
    /// For how long a sender that was lost may stay away.
    public var givesUpAfter = Duration.seconds(600)
    /// The directory in which an unfinished transfer is remembered, so that another run for the same destination goes on with it;
    /// nil for not beyond this run. It must be this user's alone.
    public var memory: PeerPath?

    public init() {}
  }

  /// What happens, to the end.
  public var events: PeerEvents { PeerEvents(buffer: running.buffer) }

  private let destination: PeerPath
  private let options: Options
  private let running = Running()

  /// Receives into a directory, which is made if it is missing.
  public init(into destination: PeerPath, options: Options = Options()) {
    self.destination = destination
    self.options = options
  }

  /// Receives, and returns when everything is in its place and safe from a loss of power.
  ///
  /// - Returns: what the transfer came to; where the receiver stays open it does not return.
  /// - Throws: the failure; ``PeerError/Kind/interrupted`` when the task was cancelled.
  @discardableResult
  public func receive() async throws(PeerError) -> PeerResult {
    try await running.perform("receive") { [self] (running) throws(TransferFailure) in
      let announcing = announcing()
      defer { announcing?.end() }
      if options.staysOpen { running.buffer.expectMany() }
      let receiver = try receiver(announcing)
      running.stopping { receiver.stop(.interrupted) }
      return try receiver.run()
    }
  }
}

extension PeerReceiver {
  private func announcing() -> Announcing? {
    guard options.isAnnounced else { return nil }
    return Announcing(label: ThisDevice.label(options.label)) { [buffer = running.buffer] in buffer.add($0) }
  }

  private func receiver(_ announcing: Announcing?) throws(TransferFailure) -> Receiver {
    let store = try options.memory.map { path throws(TransferFailure) in try path.memory() }
    var receiving = try options.receiver
    receiving.announcer = announcing
    return try Receiver(receiving, importer: try importer(), store: store) { [buffer = running.buffer] in buffer.add($0)
    }
  }

  private func importer() throws(TransferFailure) -> FolderImporter {
    guard !destination.bytes.isEmpty else {
      throw TransferFailure(.usage, "the directory to receive into is empty text", hint: "Name a directory.")
    }
    do throws(ArchiveError) {
      // What cannot be made is known before a sender comes, and only what is there can be locked.
      _ = try StagingArea.openOrMake(destination.bytes)
      let area = try StagingArea(
        at: destination.bytes,
        preserving: Preserved(owners: options.keepsOwners, setIDBits: options.keepsSetIDBits),
        atMost: options.maximumBytes.map { MostBytes($0) })
      return FolderImporter(area, existing: options.existing.map { MigrationWire.Existing($0) })
    } catch {
      throw TransferFailure(error)
    }
  }
}

extension PeerReceiver.Options {
  fileprivate var receiver: Receiver.Options {
    get throws(TransferFailure) {
      if staysOpen, code != nil {
        throw TransferFailure(
          .usage, "a code that is given is for one transfer, and a receiver that stays open takes many",
          hint: "Leave one of them out.")
      }
      var options = Receiver.Options(
        listen: HostAndPort(
          host: try host.map { text throws(TransferFailure) in try PlainHost.checked(text) },
          port: port ?? Limits.defaultPort), isPortChosen: port != nil,
        label: ThisDevice.label(label), software: Version.software, giveUpAfter: givesUpAfter.patience)
      for text in from { options.from.append(try Self.range(text)) }
      options.code = code?.pairing
      options.keeps = staysOpen
      return options
    }
  }

  private static func range(_ text: String) throws(TransferFailure) -> AddressRange {
    do throws(AddressRange.ParseError) {
      return try AddressRange.parse(text)
    } catch {
      throw TransferFailure(.usage, error.description, hint: "A range is written as in 192.0.2.0/24.")
    }
  }
}

extension MigrationWire.Existing {
  fileprivate init(_ existing: PeerReceiver.Existing) {
    self =
      switch existing {
      case .refuse: .refuse
      case .skip: .skip
      case .keepBoth: .keepBoth
      case .replace: .replace
      }
  }
}
