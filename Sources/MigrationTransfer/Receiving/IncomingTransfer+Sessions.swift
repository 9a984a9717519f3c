import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The sessions of a transfer, and what their offers lead to.
extension IncomingTransfer {
  /// What an offer in a new session leads to.
  enum Admission {
    case session(Reception)
    /// It was finished before.
    case done(Done)
    /// The import is going on; its end is told as news.
    case importing
  }

  // MARK: Coming and going

  /// A newer session begins; an older one is fenced off.
  func attach(_ mailbox: Mailbox<ReceiverNews>) -> TransferPart {
    let (part, older) = step { state in
      defer { state.mailbox = mailbox }
      return (TransferPart(number: state.course.attach(), mailbox: mailbox), state.mailbox)
    }
    older?.post(.superseded)
    host.consent.giveUp()
    return part
  }

  /// A session is over. Once this returns, nothing is judged for it any more: only then is it certain what there is.
  func detach(_ part: TransferPart) {
    let wasCurrent = step { state in
      guard state.course.isCurrent(part.number) else { return false }
      state.course.detach(part.number)
      state.mailbox = nil
      return true
    }
    // The question of a newer session stands.
    if wasCurrent { host.consent.giveUp() }
    _ = state.wait { $0.course.isJudging(part.number) ? nil : true }
  }

  /// What becomes of the transfer at the end of a session, which fails it if a failure is given.
  func leave(_ part: TransferPart, failing failure: Fault?) -> Course.Answer {
    step { $0.course.leave(part.number, failing: failure) }
  }

  /// Lets the receiver turn to another transfer, if nothing would be lost with this one; whether that is so.
  func giveWay() -> Bool {
    let (isEmpty, older) = step { state -> (Bool, Mailbox<ReceiverNews>?) in
      guard state.isEmpty else { return (false, nil) }
      state.course.fence()
      defer { state.mailbox = nil }
      return (true, state.mailbox)
    }
    older?.post(.stop(.interrupted))
    if isEmpty { host.consent.giveUp() }
    return isEmpty
  }

  /// Whether data streams of the session may join.
  func isReceiving(as part: TransferPart) -> Bool { state.withLock { $0.course.isReceiving(part.number) } }

  /// The source no longer has what these marks name.
  func drop(_ marks: [Mark], as part: TransferPart) throws(Fault) {
    try state.withLock { (state) throws(Fault) in
      guard state.course.isReceiving(part.number) else { throw .superseded }
      state.staging?.drop(marks)
    }
  }

  // MARK: Offers

  /// Judges a session's offer. Slow: it ends what an older session still does, and may make the staging directory.
  ///
  /// `features` are those that the sender has.
  func admit(
    _ offer: Offer, label: String, features: Features, address: String, as part: TransferPart
  ) throws -> Admission {
    // One offer is judged at a time, and an older one is given up.
    let begun = state.wait { (state) -> (Course.Answer, Reception?)? in
      switch state.course.beginJudging(part.number) {
      case .wait: return nil
      case .goOn:
        defer { state.reception = nil }
        return (.goOn, state.reception)
      case let answer: return (answer, nil)
      }
    }
    guard let (answer, older) = begun else { throw Fault.superseded }
    if let admission = try admission(by: answer) { return admission }
    do {
      older?.stop()
      let reception = try judge(offer, label: label, features: features, address: address, as: part)
      let answer = step { state in
        let answer = state.course.publish(part.number)
        guard case .goOn = answer else { return answer }
        state.reception = reception
        // The sender says it again.
        state.withheldItems = []
        state.total = Tally(items: offer.items, bytes: offer.bytes)
        return answer
      }
      return try admission(by: answer) ?? .session(reception)
    } catch {
      step { $0.course.abandonJudging(part.number) }
      throw error
    }
  }

  /// What an answer says of an offer; nil if it is judged and taken.
  private func admission(by answer: Course.Answer) throws(Fault) -> Admission? {
    switch answer {
    case .goOn: nil
    case .importing: .importing
    case .done(let done): .done(done)
    case .failed(let failure): throw failure
    case .wait, .superseded: throw .superseded
    }
  }

  private func judge(
    _ offer: Offer, label: String, features: Features, address: String, as part: TransferPart
  ) throws -> Reception {
    try checkContinuity(offer)
    let (staging, judgement) = try staging(for: offer, label: label, address: address) { [self] in
      state.withLock { $0.course.isCurrent(part.number) }
    }
    let present = try host.importer.present(offer, for: staging, after: judgement)
    let features = host.greeting.features.intersection(features).intersection(offer.usableFeatures)
    staging.beginSession(offer, mayRefuse: features.contains(.refusals))
    return Reception(
      session: .randomIdentifier(), client: client, keys: staging.keys,
      features: features, staging: staging, present: present, mailbox: part.mailbox, traffic: traffic,
      synced: { [weak self] in self?.noteProgress() }, refused: { [weak self] in self?.tellRefusals() })
  }

  private func checkContinuity(_ offer: Offer) throws {
    guard offer.transfer == nil || offer.transfer == identifier else { throw Fault.unknownTransfer }
    guard let first = state.withLock({ $0.entry?.remembered.destination?.offer }) else { return }
    guard first.contents.isSame(as: offer.contents) else {
      throw Violation(.conflict, "an offer of other roots than at first")
    }
  }

  private func staging(
    for offer: Offer, label: String, address: String, while isNeeded: () -> Bool
  ) throws -> (Staging, Judgement) {
    let (staging, known) = state.withLock { ($0.staging, $0.keys) }
    let terms = staging?.terms ?? host.importer.terms(of: identifier, keys: known ?? .random())
    let judgement = try host.importer.judge(offer, held: staging?.settled ?? Tally(), on: terms)
    if let staging { return (staging, judgement) }
    try host.consent.require(
      ConsentQuestion(offer: offer, label: label, address: address, availableBytes: judgement.availableBytes),
      while: isNeeded)
    // The store knows before anything is staged, so that nothing staged is ever without an owner.
    try remember(offer, terms.keys, label: label, address: address)
    let made: Staging
    do {
      made = try host.importer.area.stage(offer, on: terms)
    } catch {
      if known == nil { forget() }
      throw error
    }
    state.withLock { state in
      state.staging = made
      state.keys = terms.keys
    }
    return (made, judgement)
  }
}

extension Offer {
  /// The features that may be used for it: compression as the exporter wants it, and refusals of a folder's items alone. An
  /// app's importer gets everything that its exporter made, or nothing.
  fileprivate var usableFeatures: Features {
    var features: Features = flags.contains(.compressible) ? .zstd : []
    if case .folders = contents { features.insert(.refusals) }
    return features
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
