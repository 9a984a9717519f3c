package import MigrationWire

/// The sender's offer, as the question to this device's user shows it. Texts are exact; the asker
/// escapes them.
package struct ConsentQuestion: Sendable {
  package let offer: Offer
  /// The other device's label.
  package let label: String
  package let address: String
  /// How much room there is.
  package let availableBytes: UInt64?
  /// The most that is taken if more comes than was announced; nil where no more may come.
  package let mostBytes: UInt64?

  package init(
    offer: Offer, label: String, address: String, availableBytes: UInt64?, mostBytes: UInt64? = nil
  ) {
    self.offer = offer
    self.label = label
    self.address = address
    self.availableBytes = availableBytes
    self.mostBytes = mostBytes
  }
}

/// Asks the user of this device whether to take a new transfer, on a thread that may wait. A
/// resumed transfer needs no second question.
///
/// The answer is not needed any more when the descriptor becomes readable; then there is none.
package typealias ConsentAsker = @Sendable (_ question: ConsentQuestion, _ until: CInt) -> Bool?

/// Waits, on a thread that may do so, until the user of this device wants codes to be shown again:
/// true then, false where no user can say so any more.
///
/// The answer is not needed any more when the descriptor becomes readable; then there is none.
package typealias RestartAsker = @Sendable (_ until: CInt) -> Bool?
