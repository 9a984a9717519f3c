import FuzzDriver
import MigrationWire
import TestSupport

@testable import MigrationEngine

/// Holds the values of the engine's tests; in this program no script runs.
enum ReceiverScript {}

extension FuzzTarget {
  /// The engines of both ends, in the loops of their tests: each byte decides what happens next.
  static let engines = [
    FuzzTarget("sender", "a sender's engine", longest: 32) { input in
      var walk = SenderWalk(Generator(bytes: input), isQuick: true)
      walk.happens(.begin)
      while walk.finished == 0, walk.broken == nil, !walk.dice.isSpent {
        if walk.dice.byte() < 232 { walk.step() } else { walk.hearAnything() }
      }
      walk.wind()
      promise(walk.broken == nil, walk.broken ?? "")
    },
    FuzzTarget("receiver", "a receiver's engine", longest: 32) { input in
      var dice = Generator(bytes: input)
      let shape = dice.byte()
      var walk = ReceiverWalk(
        dice, senders: shape & 1 == 0 ? 4 : 1, keeps: shape & 2 != 0, keepsTrail: keepsEvents)
      walk.feed(.begin)
      while walk.result == nil, walk.broken == nil, !walk.dice.isSpent {
        if walk.dice.byte() < 232 { walk.step() } else { walk.hearAnything() }
      }
      walk.wind()
      if keepsEvents { tell(walk.trail) }
      promise(walk.broken == nil, walk.broken ?? "")
      promise(walk.result != nil, "the run does not end")
    },
  ]
}

extension Generator {
  /// A message of any bytes; nil where they are none.
  fileprivate mutating func message() -> ControlMessage? {
    let type = FrameType(rawValue: 0x10 + byte() % 22)
    let body = take(Int(byte() % 64))
    return read { () throws(Violation) in try ControlMessage(type, body.span, 0..<body.count) }
  }
}

extension SenderWalk {
  /// The receiver says anything at all.
  fileprivate mutating func hearAnything() {
    guard let message = dice.message(), let connection, !isClosing else { return }
    happens(.received(connection, message))
  }
}

extension ReceiverWalk {
  /// A sender says anything at all.
  fileprivate mutating func hearAnything() {
    guard let message = dice.message(), let id = talks.keys.sorted().first, let state = talks[id] else { return }
    say(message, on: id, next: state)
  }
}
