import MigrationArchive
package import MigrationEngine
import MigrationSystem
import MigrationTLS
package import MigrationWire

/// The arguments of a receiver's start, which its loop and its workers share. They never change.
struct ReceiverSetup: Sendable {
  let options: Receiver.Options
  let helpers: Receiver.Helpers
  let importers: any Importers
  let store: TransferStore?
  /// Keeps other receivers away from the destination, until the last worker has ended.
  let hold: [DiskFile]?
  let observer: @Sendable (TransferEvent) -> Void
  let identity: Identity
  let context: TLSContext
  let queue: EventQueue<ReceiverPerformer.WorkerReport>
  let workers = Workers()
  let failedStreams = FailedStreams()
  let meetings = KnownMeetings()
  /// Limits the handshakes at a time to the number of processors.
  let handshakes = ComputeGate()
  /// Lets one transfer at a time import its items: several transfers may bring the same names.
  let imports = ComputeGate(places: 1)
  let reservedRoom = ReservedRoom()
  let deliveries = Deliveries()
  /// The devices that were made known when they paired in this run.
  let known = DevicesOfRun()

  var clock: LoopClock { options.pace }

  /// Reports an event to the loop.
  func post(_ event: ReceiverEngine.Event) { queue.post(Report(event)) }

  /// Tells the user of this device a lower-case clause.
  func notice(_ text: String, about transfer: TransferID? = nil) { post(.noticed(.notice(text), of: transfer)) }

  /// Tells the user an event; of several transfers at a time, also which one it is about.
  func tell(_ event: TransferEvent, of transfer: TransferID) {
    observer(options.atOnce > 1 ? .of(transfer, event) : event)
  }

  /// Whether a device with this key needs no code here. Read anew each time: another process may
  /// forget it.
  func isKnown(_ key: KeyFingerprint) -> Bool {
    guard options.keepsPairings, let device = store?.device(key, as: .receiver), options.knownDevices.has(device)
    else { return false }
    known.insert(key)
    return true
  }

  /// A device has proved the code: before it hears so, it is known, where this run keeps the pairings
  /// of migrations.
  func expect(_ key: KeyFingerprint?, at address: String, _ meeting: [UInt8]) {
    guard let key else { return }
    // Its code counts, and not that it was known before.
    known.remove(key)
    guard options.keepsPairings, options.knownDevices.areExpected,
      (try? store?.expect(key, as: .receiver, by: identity, at: address, meeting: meeting)) == true
    else { return }
    known.insert(key)
  }

  /// The newest part of a transfer has a staging directory from now on.
  func keep(
    _ staging: Staging, _ importer: any Importer, _ part: UInt16, of transfer: IncomingTransferContext
  ) throws(Failure) {
    if options.knownDevices != .kept || staging.existing == .update, staging.arrivals == nil, let store,
      let remembered = transfer.entry?.remembered,
      let place = remembered.destination
    {
      let arriving = remembered.plan.parts[Int(part)]
      staging.arrivals = try store.arrivedItems(
        from: remembered.peer, arriving, at: place, removals: removals(of: arriving, remembered.consent))
    }
    if let remembered = transfer.entry?.remembered, let plan = transfer.part(part) {
      staging.deliveries = deliveries.of(remembered.peer, plan.sourcesOfRoots, in: remembered.transfer)
    }
    transfer.keep((staging, importer), ofPart: part)
    guard let plan = transfer.part(part) else { return }
    let importers = self.importers.within(transfer.folder)
    transfer.keep(importers.places(of: plan), ofPart: part)
    // Nothing more comes of it, and its import may follow.
    guard case .concluded = staging.stage else { return }
    do throws(Failure) {
      try staging.take(only: importers.permit(for: plan, taking: transfer.begun[part]?.taken ?? .files))
    } catch {
      throw Failure(error)
    }
  }

  /// The user's decisions about items that were moved or removed here. An option overrides an answer.
  private func removals(of part: Part, _ consent: Consent) -> [[UInt8]: ArrivedItems.Removals] {
    part.roots.reduce(into: [:]) { said, root in
      let answer = consent.isAgain(root.name, of: part).map { $0 ? ArrivedItems.Removals.again : .meant }
      said[root.name] = options.removals == .unsettled ? answer : options.removals
    }
  }

  /// Where the engine begins.
  var settings: ReceiverEngine.Settings { options.settings(of: importers, with: helpers) }

  /// The keys of devices that were known in this run.
  final class DevicesOfRun: Sendable {
    private let keys = Mutex<Set<KeyFingerprint>>([])

    func insert(_ key: KeyFingerprint) { keys.withLock { _ = $0.insert(key) } }
    func remove(_ key: KeyFingerprint) { keys.withLock { _ = $0.remove(key) } }
    func contains(_ key: KeyFingerprint) -> Bool { keys.withLock { $0.contains(key) } }
  }

  /// The secrets by which paired senders meet this device at a relay, by their keys.
  final class KnownMeetings: Sendable {
    /// As many as a relay takes of one device.
    private static let most = 64

    private let known = Mutex<[(key: KeyFingerprint, secret: [UInt8])]>([])

    /// The newest one is kept longest.
    func note(_ key: KeyFingerprint?, _ secret: [UInt8]?) {
      guard let key, let secret else { return }
      known.withLock { known in
        known.removeAll { $0.key == key }
        known.append((key, secret))
        known.removeFirst(max(0, known.count - Self.most))
      }
    }

    func secret(of key: KeyFingerprint) -> [UInt8]? { known.withLock { $0.first { $0.key == key }?.secret } }

    var secrets: [[UInt8]] { known.withLock { $0.map(\.secret) } }
  }

  /// The data streams that have failed and still say their last messages. The engine no longer counts
  /// them, so only a stop by the user shortens their time.
  final class FailedStreams: Sendable {
    private let parting = Mutex<[ConnectionID: ServedConnection.Dismissal]>([:])

    /// Runs `body`, which a dismissal ends.
    func during(_ connection: ServedConnection, _ body: () -> Void) {
      parting.withLock { $0[connection.id] = connection.dismissal }
      body()
      parting.withLock { $0[connection.id] = nil }
    }

    /// Tells all of them to end soon.
    func dismiss() {
      for dismissal in parting.withLock({ Array($0.values) }) { dismissal.dismiss(makesRoom: false) }
    }
  }
}

/// The user's answer about a new transfer.
package enum ConsentAnswer: Equatable, Sendable {
  case no
  /// Accepts it: these classes of the parts, by their numbers; nil if no person was asked.
  /// `removals` tells for each root whether removed items arrive again, or were removed on purpose.
  case yes(taking: [UInt16: ArrivalClasses]? = nil, removals: ReceiverEngine.Removals = [:])
}

/// Asks the user of this device whether to take a new transfer, on a thread that may wait. A
/// resumed transfer needs no second question.
///
/// The answer is not needed any more when the descriptor becomes readable; then there is none.
package typealias ConsentAsker = @Sendable (_ question: ConsentQuestion, _ until: CInt) -> ConsentAnswer?

/// Waits, on a thread that may do so, until the user of this device wants codes to be shown again:
/// true then, false where no user can say so any more.
///
/// The answer is not needed any more when the descriptor becomes readable; then there is none.
package typealias RestartAsker = @Sendable (_ until: CInt) -> Bool?
