import MigrationSystem
import Synchronization

/// Waits, on a thread that may do so, until the user of this device wants codes to be shown again: true then, false where no
/// user can say so any more.
///
/// The answer is not needed any more when the descriptor becomes readable; then there is none.
package typealias RestartAsker = @Sendable (_ until: CInt) -> Bool?

/// Asks beside everything else, and leaves the terminal to every other question.
final class RestartDesk: Sendable {
  private struct State {
    var thread: OwnerThread?
    var answer: Bool?
    /// How many other questions are asked now.
    var others = 0
  }

  private let ask: RestartAsker?
  private let ending: Wakeup
  private let state = Mutex(State())

  init(_ ask: RestartAsker?) throws(SystemError) {
    self.ask = ask
    ending = try Wakeup()
  }

  /// Whether there is a user to ask.
  var isAttended: Bool { ask != nil }

  /// Asks, unless that goes on already; gives the answer once it is there, and signals `attention` then.
  func answer(telling attention: Wakeup) -> Bool? {
    state.withLock { state in
      if let answer = state.answer {
        (state.answer, state.thread) = (nil, nil)
        return answer
      }
      guard let ask, state.thread == nil, state.others == 0 else { return nil }
      ending.clear()
      do {
        state.thread = try OwnerThread(name: "restart") { [self] in
          guard let answer = ask(ending.raw) else { return }
          self.state.withLock { $0.answer = answer }
          attention.signal()
        }
        return nil
      } catch {
        return false
      }
    }
  }

  /// Asks no more, and forgets an answer that nothing came of. Returns once nothing reads it.
  func giveUp() {
    leave {}
    state.withLock { $0.answer = nil }
  }

  /// Runs `body`, which asks something else, once the terminal is free, and keeps it free meanwhile.
  func leave<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    let thread = state.withLock { state in
      state.others += 1
      defer { state.thread = nil }
      return state.thread
    }
    defer { state.withLock { $0.others -= 1 } }
    if let thread {
      ending.signal()
      thread.join()
    }
    return try body()
  }
}
