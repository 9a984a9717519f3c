/// The tries that a sender has spent on codes (Protocol §4.3): each confirmation that it sends lets the
/// other end test one guess.
///
/// It uses no clock, which a user could set: a count ends only after tries of many later codes.
package struct SpentTries: Equatable, Sendable {
  /// The tries of one code.
  package struct Code: Equatable, Sendable {
    /// A value that identifies the code and does not reveal it.
    package let check: UInt128
    package fileprivate(set) var tries: Int

    package init(check: UInt128, tries: Int) {
      self.check = check
      self.tries = tries
    }
  }

  /// How many codes are remembered.
  package static let most = 256

  /// In the order of their last tries.
  package private(set) var codes: [Code]

  package init(_ codes: [Code] = []) { self.codes = codes.suffix(Self.most) }

  /// How many tries a code has left.
  package func left(_ check: UInt128) -> Int {
    max(0, PairingCode.tries - (codes.first { $0.check == check }?.tries ?? 0))
  }

  /// Spends one try of a code, before the sender sends a value that depends on the code. False if
  /// no try is left.
  package mutating func spend(_ check: UInt128) -> Bool {
    let left = left(check)
    guard left > 0 else { return false }
    set(check, PairingCode.tries - left + 1)
    return true
  }

  /// Gives a try back: the other end has proved that it knows the code, so nothing was guessed.
  package mutating func giveBack(_ check: UInt128) {
    guard let code = codes.first(where: { $0.check == check }) else { return }
    set(check, code.tries - 1)
  }

  private mutating func set(_ check: UInt128, _ tries: Int) {
    codes.removeAll { $0.check == check }
    if tries > 0 { codes.append(Code(check: check, tries: tries)) }
    codes.removeFirst(max(0, codes.count - Self.most))
  }
}
