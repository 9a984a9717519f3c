import MigrationArchive
import MigrationEngine
import MigrationSystem
package import MigrationWire

/// What a sender wants to send, as the user of this device is asked about it. Texts are exact; whoever shows them escapes them.
package struct ConsentQuestion: Sendable {
  package let offer: Offer
  /// What the other device calls itself.
  package let label: String
  package let address: String
  /// How much room there is.
  package let availableBytes: UInt64?

  package init(offer: Offer, label: String, address: String, availableBytes: UInt64?) {
    self.offer = offer
    self.label = label
    self.address = address
    self.availableBytes = availableBytes
  }
}

/// Asks the user of this device whether to take a new transfer, on a thread that may wait. Nobody is asked again about one that
/// goes on.
///
/// The answer is not needed any more when the descriptor becomes readable; then there is none.
package typealias ConsentAsker = @Sendable (_ question: ConsentQuestion, _ until: CInt) -> Bool?

/// One asker, and what ends its waiting. Another desk that may use the same terminal leaves it meanwhile.
final class ConsentDesk: Sendable {
  private let ask: ConsentAsker?
  private let other: RestartDesk
  private let ending: Wakeup

  init(_ ask: ConsentAsker?, besides other: RestartDesk) throws(SystemError) {
    self.ask = ask
    self.other = other
    ending = try Wakeup()
  }

  /// Fails unless the transfer is wanted. `isNeeded` tells whether anybody still waits for the answer.
  func require(_ question: ConsentQuestion, while isNeeded: () -> Bool) throws {
    guard let ask else { return }
    while true {
      // In this order: whoever gives up first withdraws the need, and then signals.
      ending.clear()
      guard isNeeded() else { throw ArchiveError(.stopped, "the session is over") }
      guard let answer = other.leave({ ask(question, ending.raw) }) else { continue }
      if answer { return }
      throw Fault(
        .declined, "the offer was not accepted", telling: "the offer was not accepted on the receiving device")
    }
  }

  /// Somebody needs no answer any more.
  func giveUp() { ending.signal() }
}
