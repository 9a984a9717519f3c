import MigrationEngine

@testable import MigrationWire

/// One session of a `CourseModel`.
struct SessionModel: Hashable {
  enum Talk: Hashable {
    case absent
    case greeted
    case offered
    case receiving
    case finished
    case answered
    /// Over, with what it was doing still to be ended.
    case failing
    case detached
    case gone
  }

  enum Judging: Hashable {
    case none
    case asking
    /// The streams of an older reception are being ended.
    case closing(Int?)
    case staging
  }

  enum Letter: Hashable {
    case admitted
    case done
    case failed
    case superseded
  }

  enum Gate: Hashable {
    case open
    case shut
    case closed
  }

  var number: SessionNumber?
  var talk = Talk.absent
  var judging = Judging.none
  var letters: [Letter] = []
  var gate = Gate.closed
  var isWriting = false
  var hasWritten = false
  var hasJoined = false
  /// Whether the transfer ends with it.
  var isFinal = false
  /// What the ledger said was there.
  var told: UInt8 = 0

  var isTalking: Bool {
    switch talk {
    case .greeted, .offered, .receiving, .finished, .answered: true
    case .absent, .failing, .detached, .gone: false
    }
  }

  var mayWrite: Bool { hasJoined && gate == .open && !hasWritten }

  mutating func beginWriting() {
    isWriting = true
    hasWritten = true
  }
}
