/// What the sessions of one transfer may do to it at the receiver (Protocol §7.3, §9.7).
///
/// A value: each method is one step, which the engine takes under one lock, and answers what the engine does then. Only the
/// newest session acts on the transfer, and only while it is here; the import, once begun, depends on no session.
package struct TransferCourse<Success: Sendable, Failure: Sendable>: Sendable {
  fileprivate enum Stage: Sendable {
    /// Leads to importing, failed.
    case receiving
    /// What one session concluded, or an earlier run, is verified and imported. Leads to done, failed.
    case importing
    case done(Success)
    case failed(Failure)
  }

  /// What the engine does upon a step of a session.
  package enum Answer: Sendable {
    /// What the session asked for.
    case goOn
    /// It asks again after the next step of another session, whose offer is still being judged.
    case wait
    /// Nothing: a newer session has come, or this one has left.
    case superseded
    /// It waits for the end of the import.
    case importing
    /// It tells that the transfer is done.
    case done(Success)
    /// It tells why the transfer failed.
    case failed(Failure)
  }

  private var stage: Stage
  /// How many sessions have come.
  private var count: UInt64 = 0
  /// The newest session, which may have left.
  private var newest: SessionNumber?
  private var isHere = false
  /// Whose offer is being judged.
  private var judged: SessionNumber?
  /// Whose streams may write.
  private var published: SessionNumber?

  /// Begins with nothing concluded.
  package init() { stage = .receiving }

  /// Begins with a transfer that an earlier run has finished.
  package init(done: Success) { stage = .done(done) }

  // MARK: What it is

  package var isReceiving: Bool { if case .receiving = stage { true } else { false } }
  package var isImporting: Bool { if case .importing = stage { true } else { false } }
  package var done: Success? { if case .done(let done) = stage { done } else { nil } }
  package var failure: Failure? { if case .failed(let failure) = stage { failure } else { nil } }

  /// Whether the session is the newest one, and here.
  package func isCurrent(_ session: SessionNumber) -> Bool { isHere && newest == session }

  /// Whether the session's offer is being judged.
  package func isJudging(_ session: SessionNumber) -> Bool { judged == session }

  /// Whether data streams of the session may join, and what it says of the archive counts.
  package func isReceiving(_ session: SessionNumber) -> Bool {
    isReceiving && isCurrent(session) && published == session
  }

  // MARK: Sessions

  /// A session comes, and supersedes the one before it. Valid in every state.
  package mutating func attach() -> SessionNumber {
    count += 1
    let session = SessionNumber(count)
    newest = session
    isHere = true
    return session
  }

  /// The receiver turns to another transfer: the newest session is superseded without another one. Valid in every state.
  package mutating func fence() {
    _ = attach()
    isHere = false
  }

  /// The session has made its offer. Upon `goOn` its offer is judged, after the last write of the reception that was
  /// published before, and `publish` or `abandonJudging` follows.
  package mutating func beginJudging(_ session: SessionNumber) -> Answer {
    let answer = answer(to: session)
    guard case .goOn = answer else { return answer }
    guard judged == nil else { return .wait }
    judged = session
    published = nil
    return .goOn
  }

  /// The session's offer is taken: upon `goOn` its streams may write from now on. Valid while it is judged, which ends here.
  package mutating func publish(_ session: SessionNumber) -> Answer {
    precondition(judged == session, "what is published has been judged")
    judged = nil
    let answer = answer(to: session)
    if case .goOn = answer { published = session }
    return answer
  }

  /// The session's offer is not taken, or is judged no more. Valid in every state.
  package mutating func abandonJudging(_ session: SessionNumber) {
    if judged == session { judged = nil }
  }

  /// The session has said FINISH: upon `goOn` the import begins, and `imported` or `importFailed` follows.
  package mutating func conclude(_ session: SessionNumber) -> Answer {
    let answer = answer(to: session)
    guard case .goOn = answer else { return answer }
    precondition(published == session, "a conclusion follows an acceptance")
    stage = .importing
    return .goOn
  }

  /// The session's connection is over: it acts no more. Valid in every state.
  package mutating func detach(_ session: SessionNumber) {
    if newest == session { isHere = false }
  }

  /// The session is over and its offer no more judged; `failure` if the transfer ends with it. Upon `goOn` the transfer
  /// waits for another session.
  package mutating func leave(_ session: SessionNumber, failing failure: Failure?) -> Answer {
    guard newest == session else { return .superseded }
    isHere = false
    if isReceiving, let failure { stage = .failed(failure) }
    return standing
  }

  // MARK: The import

  /// An earlier run had begun the import, and it goes on. Valid before the first session.
  package mutating func recover() {
    precondition(isReceiving && count == 0, "what is recovered comes before every session")
    stage = .importing
  }

  /// Everything is imported; whether a session is here that tells the sender. Valid in importing; leads to done.
  package mutating func imported(_ done: Success) -> Bool {
    precondition(isImporting, "what is imported was being imported")
    stage = .done(done)
    return isHere
  }

  /// The import failed; whether a session is here that tells the sender. Valid in importing; leads to failed.
  package mutating func importFailed(_ failure: Failure) -> Bool {
    precondition(isImporting, "an import that fails was going on")
    stage = .failed(failure)
    return isHere
  }

  // MARK: Answers

  private func answer(to session: SessionNumber) -> Answer { isCurrent(session) ? standing : .superseded }

  private var standing: Answer {
    switch stage {
    case .receiving: .goOn
    case .importing: .importing
    case .done(let done): .done(done)
    case .failed(let failure): .failed(failure)
    }
  }
}

extension TransferCourse.Stage: Equatable where Success: Equatable, Failure: Equatable {}
extension TransferCourse.Stage: Hashable where Success: Hashable, Failure: Hashable {}
extension TransferCourse.Answer: Equatable where Success: Equatable, Failure: Equatable {}
extension TransferCourse: Equatable where Success: Equatable, Failure: Equatable {}
extension TransferCourse: Hashable where Success: Hashable, Failure: Hashable {}
