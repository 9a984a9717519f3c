import MigrationArchive
import MigrationSystem
import MigrationTLS
import MigrationWire

/// One transfer at the receiver, over all its sessions and over restarts of the program.
///
/// A session comes and goes with its control connection. What it must not take with it is here: the staging directory, the
/// import once it has begun, and what the store remembers.
final class IncomingTransfer: Sendable {
  /// What an offer in a new session leads to.
  enum Admission {
    case session(Reception)
    /// It was finished before.
    case done(Done)
    /// The import is going on; its end is told as news.
    case importing
  }

  private enum Course {
    case receiving
    case importing
    case done(Done)
    case failed(SessionFailure)
  }

  private struct State {
    var entry: TransferEntry?
    var course = Course.receiving
    var keys: TransferKeys?
    var staging: Staging?
    var reception: Reception?
    /// The newest session's.
    var mailbox: Mailbox<ReceiverNews>?
    var heldAtStart = Tally()
    var unsent: UInt64 = 0
    var leftOut = LeftOut()
    /// What the newest offer announces.
    var total = Tally()
  }

  let identifier: TransferID
  /// The other device's key: the pin.
  let client: KeyFingerprint
  private let host: any ReceptionHost
  private let state: Condition<State>
  private let admissions = ThreadGroup()
  private let saved = SavedBytes()

  /// Begins with a pairing. Nothing is remembered before an offer is accepted.
  init(pairedWith client: KeyFingerprint, host: any ReceptionHost) {
    identifier = .randomIdentifier()
    self.client = client
    self.host = host
    state = Condition(State())
  }

  /// Goes on with what an earlier run remembered.
  init(_ entry: TransferEntry, host: any ReceptionHost) {
    let remembered = entry.remembered
    identifier = remembered.transfer
    client = remembered.peer
    self.host = host
    var state = State(entry: entry)
    if let destination = remembered.destination {
      state.keys = destination.keys
    }
    if let finished = remembered.done {
      state.course = .done(finished.done)
      state.heldAtStart = finished.done.total
    }
    state.unsent = remembered.unsent
    self.state = Condition(state)
  }

  var done: Done? { state.withLock { if case .done(let done) = $0.course { done } else { nil } } }
  var isDone: Bool { done != nil }
  var isImporting: Bool { state.withLock { if case .importing = $0.course { true } else { false } } }
  /// Whether nothing would be lost with it.
  var isEmpty: Bool {
    state.withLock { state in
      guard case .receiving = state.course else { return false }
      return (state.staging?.held ?? Tally()) == Tally()
    }
  }

  /// What is staged by now.
  var held: Tally { state.withLock { $0.staging?.held ?? Tally() } }
  /// How many items the sender could not send.
  var unsent: UInt64 { state.withLock { $0.unsent } }
  /// What the sender left out, and what was left at the import.
  var leftOut: LeftOut { state.withLock { $0.leftOut } }
  /// What compression has kept off the wire in this run.
  var savedBytes: UInt64 { saved.total }
  /// What was staged before this run.
  var heldAtStart: Tally { state.withLock { $0.heldAtStart } }

  // MARK: Starting

  /// Takes back what an earlier run staged, and goes on with an import that had begun; whether there is one.
  func recover() throws -> Bool {
    let (entry, keys) = state.withLock { ($0.entry, $0.keys) }
    guard let entry, let keys, let destination = entry.remembered.destination else { return false }
    if isDone {
      // What is left of the staging directory was being removed.
      try host.sink.clear(identifier)
      return false
    }
    guard let staging = try recoverOrSetAside(destination.offer, keys) else { return false }
    state.withLock { state in
      state.staging = staging
      state.heldAtStart = staging.held
    }
    if let former = staging.formerExisting {
      host.observe(
        .notice(
          "the transfer began with --existing \(former.name) and goes on with --existing \(staging.existing.name)"))
    }
    switch staging.stage {
    case .receiving: return false
    case .concluded(let total), .imported(let total):
      try beginImport(total) { staging }
      return true
    }
  }

  /// What was staged; nil if nothing is there, or nothing that can be believed.
  private func recoverOrSetAside(_ offer: Offer, _ keys: TransferKeys) throws -> Staging? {
    do {
      return try host.sink.recover(offer, transfer: identifier, keys: keys, sealer: try ChunkSealer(keys))
    } catch let error as ArchiveError where error.code == .journal {
      let aside = try host.sink.setAside(identifier)
      host.observe(
        .notice("\(error); it is kept as \(VisibleText.quoted(aside)) and everything is sent again"))
      return nil
    }
  }

  // MARK: Sessions

  /// A newer session begins; an older one is fenced off.
  func attach(_ mailbox: Mailbox<ReceiverNews>) {
    let older = state.withLock { state in
      defer { state.mailbox = mailbox }
      return state.mailbox
    }
    older?.post(.superseded)
  }

  /// A session is over; what it waited for is not needed any more.
  func detach(_ mailbox: Mailbox<ReceiverNews>) {
    state.withLock { state in
      if state.mailbox === mailbox { state.mailbox = nil }
    }
  }

  /// Judges a session's offer on a thread of its own.
  func startAdmission(_ judge: @escaping @Sendable () -> Void) throws(SystemError) {
    try admissions.start("admission", judge)
  }

  /// Returns once nothing is being judged any more: only then is it certain what there is.
  func waitForAdmissions() { admissions.wait() }

  /// Judges a session's offer. Slow: it ends what an older session still does, and may make the staging directory.
  ///
  /// `features` are those that the sender has.
  func admit(
    _ offer: Offer, label: String, features: Features, address: String, for mailbox: Mailbox<ReceiverNews>
  ) throws -> Admission {
    let (course, older) = state.withLock { ($0.course, $0.reception) }
    switch course {
    case .done(let done): return .done(done)
    case .importing: return .importing
    case .failed(let failure): throw failure
    case .receiving: break
    }
    try checkContinuity(offer)
    older?.stop()
    let (staging, keys) = try staging(for: offer, label: label, address: address) { [self] in
      state.withLock { $0.mailbox === mailbox }
    }
    let present = try host.sink.present(offer, for: staging)
    staging.beginSession(offer)
    let reception = Reception(
      session: .randomIdentifier(), client: client, keys: keys,
      features: host.greeting.features.intersection(features).intersection(offer.usableFeatures), staging: staging,
      present: present, mailbox: mailbox, saved: saved, synced: { [weak self] in self?.noteProgress() })
    state.withLock { state in
      state.reception = reception
      state.total = Tally(items: offer.items, bytes: offer.bytes)
    }
    return .session(reception)
  }

  private func checkContinuity(_ offer: Offer) throws {
    guard offer.transfer == nil || offer.transfer == identifier else { throw SessionFailure.unknownTransfer }
    guard let first = state.withLock({ $0.entry?.remembered.destination?.offer }) else { return }
    guard first.contents.isSame(as: offer.contents) else {
      throw Violation(.conflict, "an offer of other roots than at first")
    }
  }

  private func staging(
    for offer: Offer, label: String, address: String, while isNeeded: () -> Bool
  ) throws -> (Staging, TransferKeys) {
    let (staging, known) = state.withLock { ($0.staging, $0.keys) }
    try host.sink.admit(offer, held: staging?.held ?? Tally(), existing: staging?.existing)
    if let staging, let known { return (staging, known) }
    try host.consent.require(
      ConsentQuestion(offer: offer, label: label, address: address, availableBytes: host.sink.availableBytes()),
      while: isNeeded)
    let keys = known ?? .random()
    // The store knows before anything is staged, so that nothing staged is ever without an owner.
    try remember(offer, keys, label: label, address: address)
    let made: Staging
    do {
      made = try host.sink.stage(offer, transfer: identifier, keys: keys)
    } catch {
      if known == nil { forget() }
      throw error
    }
    state.withLock { state in
      state.staging = made
      state.keys = keys
    }
    return (made, keys)
  }

  // MARK: The import

  /// The sender has said everything; what arrived is verified and imported, whatever becomes of the session.
  func conclude(_ finish: Finish) throws {
    guard
      let (reception, staging) = state.withLock({ state in
        state.reception.flatMap { r in state.staging.map { (r, $0) } }
      })
    else { preconditionFailure("a finish follows an acceptance") }
    try reception.gate.shut()
    state.withLock { state in
      state.unsent = finish.unsent
      state.leftOut = finish.leftOut
      // What was announced may have been an estimate.
      state.total = finish.total
    }
    try beginImport(finish.total) { [self] in
      try state.withLock { $0.entry }?.update { $0.unsent = finish.unsent }
      reception.syncer.stop()
      try staging.complete(finish) { tell($0) }
      return staging
    }
  }

  private func beginImport(_ total: Tally, _ complete: @escaping @Sendable () throws -> Staging) throws {
    state.withLock { $0.course = .importing }
    try host.start("import") { [self] in
      do {
        let staging = try complete()
        host.observe(.staged)
        host.observe(.importing)
        let losses = try host.sink.importItems(of: staging) { tell($0) }
        tell(staging.clashes)
        let done = Done(total: total, losses: losses)
        leaveTombstone(done)
        state.withLock { $0.course = .done(done) }
        tell(.imported(done))
        host.ended(self, .success(done))
      } catch {
        let failure = SessionFailure(error)
        state.withLock { $0.course = .failed(failure) }
        tell(.failed(failure))
        host.ended(self, .failure(failure))
      }
    }
  }

  private func tell(_ clashes: Clashes) {
    for renaming in clashes.renamed {
      host.observe(.renamed(path: renaming.path.bytes, target: renaming.target.bytes))
    }
    for path in clashes.left { host.observe(.unsent(Unsent(path: path.bytes, reason: .differing))) }
    state.withLock { $0.leftOut.differing += clashes.leftCount }
  }

  private func tell(_ news: ReceiverNews) {
    state.withLock { $0.mailbox }?.post(news)
  }

  private func tell(_ progress: ImportProgress) {
    tell(.progress(progress))
    host.observe(
      .progress(overall(progress.phase == .importing ? .importing : .verifying, fraction: progress.fraction)))
  }

  /// How far it is.
  func overall(_ phase: TransferPhase, fraction: Double? = nil) -> TransferProgress {
    let (held, total) = state.withLock { ($0.staging?.held ?? Tally(), $0.total) }
    return TransferProgress(
      phase: phase, bytes: held.bytes, totalBytes: max(total.bytes, held.bytes), items: held.items,
      totalItems: max(total.items, held.items), phaseFraction: fraction)
  }

  /// Ends every stream and worker of the session soon.
  func halt() { state.withLock { $0.reception }?.halt() }

  /// Ends every stream and worker of the session, and waits for them.
  func stop() { state.withLock { $0.reception }?.stop() }

  // MARK: Remembering

  private func remember(_ offer: Offer, _ keys: TransferKeys, label: String, address: String) throws {
    guard state.withLock({ $0.entry == nil }), let store = host.store else { return }
    let now = Timestamp.coarseNow().seconds
    let entry = try store.create(
      RememberedTransfer(
        transfer: identifier, role: .receiver, identity: try host.identity.encoded(), peer: client, label: label,
        address: address, started: now, lastSeen: now, total: Tally(items: offer.items, bytes: offer.bytes),
        held: Tally(),
        subject: .destination(
          RememberedTransfer.Destination(
            path: try host.sink.place(), port: host.port, keys: keys, offer: offer.withoutTransfer))))
    state.withLock { $0.entry = entry }
  }

  /// Remembers that it is done, since a sender that missed the answer may ask again, and removes the staging directory.
  ///
  /// In this order, and what fails is left to the next run: the journal says as well that all is imported.
  private func leaveTombstone(_ done: Done) {
    do {
      try state.withLock { $0.entry }?.finish(done)
      try host.sink.clear(identifier)
    } catch {
      host.observe(.notice("what was staged is still there: \(error)"))
    }
  }

  /// Notes how far it is, for those who list what is unfinished.
  func noteProgress() {
    let (entry, staging) = state.withLock { ($0.entry, $0.staging) }
    guard let entry, let staging, !isDone else { return }
    let held = staging.held
    try? entry.update { remembered in
      remembered.held = held
      remembered.lastSeen = Timestamp.coarseNow().seconds
    }
  }

  /// The sender knows that all is done, or nothing is worth remembering.
  func forget() {
    let entry = state.withLock { state in
      defer { state.entry = nil }
      return state.entry
    }
    try? entry?.remove()
  }

  /// Gives up what is there, which is nothing.
  func discard() {
    stop()
    try? host.sink.clear(identifier)
    forget()
  }
}

extension SessionFailure {
  static let unknownTransfer = SessionFailure(
    Close(.unknownTransfer, "this transfer is not known here", hint: "Start it anew, with a new code."),
    TransferFailure(.refused, "the other device wants to continue a transfer that is not known here"))
}

extension Offer {
  /// The features that the exporter lets be used.
  fileprivate var usableFeatures: Features { flags.contains(.compressible) ? .zstd : [] }

  /// The offer as it was first made.
  fileprivate var withoutTransfer: Offer {
    Offer(transfer: nil, contents: contents, items: items, bytes: bytes, allocated: allocated, flags: flags)
  }
}

extension Offer.Contents {
  /// Whether these are the same roots, by name, or the same app. A root may have become something else.
  fileprivate func isSame(as other: Offer.Contents) -> Bool {
    switch (self, other) {
    case (.folders(let one), .folders(let two)): one.map(\.name) == two.map(\.name)
    case (.app(let one), .app(let two)): one.bundleIdentifier == two.bundleIdentifier
    case (.folders, .app), (.app, .folders): false
    }
  }
}
