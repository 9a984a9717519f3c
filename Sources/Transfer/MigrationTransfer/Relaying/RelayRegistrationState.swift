import MigrationEngine
import MigrationWire

/// The messages between a device and its relay on a registration (Protocol §16.2). The relay gives
/// one place, and answers each sign of life once.
///
/// A value. Times are seconds that count sleep.
struct RelayRegistrationState: Equatable, Sendable {
  /// News from the relay.
  enum News: Equatable, Sendable {
    case placed(RelayPlace)
    case rung(RelayCall, InternetAddress)
  }

  /// In seconds: the longest wait for an answer, the time to a sign of life, and silence.
  static let patience = 10.0
  private static let (heartbeat, silence) = (20.0, 60.0)

  private let begun: Double
  private var place: RelayPlace?
  private var told: [RelayMeeting] = []
  private var (heardAt, saidAt): (Double, Double)
  private var unanswered = 0

  /// Begins with a connection that has just been made.
  init(now: Double) { (begun, heardAt, saidAt) = (now, now, now) }

  /// Takes a frame behind the challenge.
  mutating func take(_ frame: RelayFrame, now: Double) throws(RelayAccess.Trouble) -> News? {
    switch frame {
    case .place(let place) where self.place == nil:
      self.place = place
      (heardAt, saidAt) = (now, now)
      return .placed(place)
    case .ring(let call, let caller) where place != nil:
      heardAt = now
      return .rung(call, caller)
    case .pong where unanswered > 0:
      unanswered -= 1
      heardAt = now
      return nil
    case .refused(let reason, let wait): throw .refused(reason, wait: wait)
    default: throw .foreign
    }
  }

  /// The frames to send now: the meetings that the relay does not know, or a sign of life.
  mutating func due(_ meetings: [RelayMeeting], now: Double) -> [RelayFrame] {
    guard place != nil else { return [] }
    var frames = meetings.filter { !told.contains($0) }.map { RelayFrame.meet($0) }
    told = meetings
    if frames.isEmpty, now >= saidAt + Self.heartbeat {
      unanswered += 1
      frames = [.ping]
    }
    if !frames.isEmpty { saidAt = now }
    return frames
  }

  /// When something is due, or the relay has been silent for too long.
  var nextMoment: Double { place == nil ? silentAt : min(saidAt + Self.heartbeat, silentAt) }

  /// When the relay has been silent for too long.
  var silentAt: Double { place == nil ? begun + Self.patience : heardAt + Self.silence }

  /// For how long the device has had a place, or has waited for it.
  func age(now: Double) -> Double { now - begun }
}

extension Backoff {
  /// The pauses between two tries to register.
  static let atRelay = Backoff(first: 1, longest: 30)

  /// The seconds to the next try to register. They begin anew once a registration has stood for as
  /// long as the longest of them: a relay that gives and takes places has the device come back no
  /// faster.
  mutating func next(behind trouble: RelayAccess.Trouble, stood: Double, spread: Double) -> Double {
    if stood >= longest { restart() }
    let asked = if case .refused(_, let wait) = trouble { Double(wait) } else { 0.0 }
    return next(now: 0, spread: spread, atLeast: asked) ?? longest
  }
}
