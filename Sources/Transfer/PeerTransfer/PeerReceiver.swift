package import MigrationArchive
package import MigrationEngine
import MigrationSystem
package import MigrationTransfer
package import MigrationWire

/// Waits for another device and receives its files: one transfer, or one after another.
///
/// ``receive()`` does the work, and ``events`` report its course, including the code to show.
/// Cancelling the task that waits for it ends the transfer as Ctrl-C ends `peer receive`: the
/// received data is kept.
public final class PeerReceiver: Sendable {
  /// The action for a name that is taken.
  public enum Existing: String, Hashable, Sendable {
    /// The whole transfer is refused before any data is sent.
    case refuse
    /// Folders are merged, and existing items are kept.
    case skip
    /// A new item gets another name, such as `photos (2)`.
    case keepBoth = "keep-both"
    /// Folders are merged; new files and links replace existing files and links, each in one step.
    case replace
    /// Folders are merged; a new file or link that differs from the existing one replaces it, in one
    /// step, and an equal one is not sent.
    case update
    /// Folders are merged; a new file or link that differs from the existing one gets another name.
    case merge
  }

  /// The options of a receiver.
  public struct Options: Sendable {
    /// The name of this device on other devices; nil for the host name.
    public var label: String?
    /// The address to listen on; nil for every address of this device.
    public var host: String?
    /// The port; 0 for any free port, nil for 47470.
    public var port: UInt16?
    /// Whether this device announces itself on its networks while a sender may come, so that the
    /// sender needs no address.
    public var isAnnounced = true
    /// The addresses and ranges from which senders may pair, such as `192.0.2.0/24`; empty for all.
    public var from: [String] = []
    /// The action for names that are taken; nil for the action of the interrupted transfer, or
    /// `refuse`.
    public var existing: Existing?
    /// The most bytes of a transfer, including data that has arrived before; nil for as many as
    /// fit.
    public var maximumBytes: UInt64?
    /// Whether the sender's owners and groups are kept, also in access lists; for root.
    public var keepsOwners = false
    /// Whether set-user-ID and set-group-ID bits are kept, of items whose owner is kept.
    public var keepsSetIDBits = false
    /// Whether every received file is read again from the disk, and compared with the sender's checks,
    /// before it is put in place. A file that differs is not stored, and named.
    public var verifies = false
    /// The code that the sender has too; nil if this device creates codes and reports them by
    /// events. It works once. It excludes `staysOpen`.
    public var code: PeerCode?
    /// Whether the receiver accepts one transfer after another, each with a new code, until the
    /// task is cancelled. Each transfer ends with ``PeerEvent/done(_:)`` or
    /// ``PeerEvent/failed(_:)``; the last such event is the end of all.
    public var staysOpen = false
    /// How long to wait for the sender to reconnect.
    public var givesUpAfter = Duration.seconds(600)
    /// The directory that remembers an unfinished transfer, so that another run for the same
    /// destination resumes it; nil to remember it only during this run. Only this user may have
    /// access to the directory. Of the receivers with one memory, one at a time may receive into a
    /// destination.
    public var memory: PeerPath?

    public init() {}
  }

  /// The events, to the end.
  public var events: PeerEvents { PeerEvents(events: running.buffer.events) }

  private let destination: PeerPath
  private let options: Options
  private let running = TransferThread()

  /// Receives into a directory, which is created if it is missing. Names that begin with a dot are
  /// taken like all others: in a home directory, some of these items run commands.
  public init(into destination: PeerPath, options: Options = Options()) {
    self.destination = destination
    self.options = options
  }

  /// Receives, and returns when all items are in place and safe from a power failure.
  ///
  /// - Returns: the result of the transfer; a receiver that stays open does not return.
  /// - Throws: the failure; ``PeerError/Kind/interrupted`` when the task was cancelled.
  @discardableResult
  public func receive() async throws(PeerError) -> PeerResult {
    try await running.perform("receive") { [self] (running) throws(Failure) in
      if options.staysOpen { running.buffer.expectMany() }
      let store = try options.memory.map { path throws(Failure) in try path.memory() }
      let transfer = try options.transfer
      guard !destination.bytes.isEmpty else {
        throw Failure(.usage, "the directory to receive into is an empty string", hint: "Name a directory.")
      }
      let importer = try FolderImporter(
        into: destination.bytes,
        preserving: Preserved(owners: options.keepsOwners, setIDBits: options.keepsSetIDBits),
        atMost: options.maximumBytes.map { MostBytes($0) },
        existing: options.existing.flatMap { existing in
          MigrationWire.Existing.allCases.first { $0.name == existing.rawValue }
        })
      return try Self.receive(
        transfer, into: importer, memory: store, isAnnounced: options.isAnnounced
      ) { [buffer = running.buffer] in
        buffer.add($0)
      } stopping: { stop in
        running.stopping { stop(.interrupted) }
      }
    }
  }

  /// Receives into anything, for any program, and blocks until the end.
  ///
  /// - Parameters:
  ///   - helpers: the program's questions to the user; the announcement is added.
  ///   - stopping: gets the function that ends the transfer, before it begins.
  package static func receive(
    _ options: Receiver.Options, into importers: any Importers, memory: TransferStore?, isAnnounced: Bool,
    with helpers: Receiver.Helpers = Receiver.Helpers(), telling tell: @escaping @Sendable (TransferEvent) -> Void,
    stopping: (@escaping @Sendable (Failure.Kind) -> Void) -> Void
  ) throws(Failure) -> TransferResult {
    var helpers = helpers
    let announcing = isAnnounced ? Announcing(label: options.greeting.label, telling: tell) : nil
    defer { announcing?.end() }
    helpers.announcer = announcing
    let receiver = try Receiver(options, with: helpers, importers: importers, store: memory, observer: tell)
    stopping { receiver.stop($0) }
    return try receiver.run()
  }
}

extension PeerReceiver.Options {
  fileprivate var transfer: Receiver.Options {
    get throws(Failure) {
      if staysOpen, code != nil {
        throw Failure(
          .usage, "a receiver that stays open cannot have a code: a code is for one transfer",
          hint: "Remove one of them.")
      }
      let host = try host.map { text throws(Failure) in try PlainHost.checked(text) }
      var options = Receiver.Options(
        listen: HostAndPort(host: host, port: port ?? Limits.defaultPort), isPortChosen: port != nil, label: label,
        giveUpAfter: givesUpAfter.patience)
      do throws(AddressRange.ParseError) {
        for text in from { options.from.append(try AddressRange.parse(text)) }
      } catch {
        throw Failure(.usage, error.description, hint: "Write a range as in 192.0.2.0/24.")
      }
      options.code = code?.pairing
      options.keeps = staysOpen
      options.verifies = verifies
      return options
    }
  }
}

extension FolderImporter {
  /// Imports into a directory, which is created if it is missing.
  package convenience init(
    into directory: [UInt8], preserving preserved: Preserved, atMost most: MostBytes?,
    existing: MigrationWire.Existing?,
    judging rule: ArrivalRule = ArrivalRule(),
    folders: (@Sendable (KeyFingerprint) throws(Failure) -> ArchivePath)? = nil
  ) throws(Failure) {
    let area = try StagingArea(at: directory, preserving: preserved, atMost: most)
    self.init(area, existing: existing, judging: rule, folders: folders)
  }
}
