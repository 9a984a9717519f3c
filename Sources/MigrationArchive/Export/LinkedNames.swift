import MigrationWire

/// The files of a batch that have several names, and which name brings the content.
///
/// A name that leads to the same generation leads to the same file in the same state: what changed meanwhile, or took a number
/// that became free, is sent by itself.
struct LinkedNames: Sendable {
  /// Who brings the content of a name.
  enum Claim: Equatable, Sendable {
    /// The name that asked.
    case mine
    /// Another name, which a reader has in hand.
    case others
    /// This one, which is in the archive.
    case sent(Int)
  }

  private enum Name: Sendable {
    case inHand(Int)
    case sent(Int)
  }

  private var names: [Generation: Name] = [:]
  private var inHand: [Int: Generation] = [:]

  /// A name leads to a generation.
  mutating func claim(_ index: Int, _ generation: Generation) -> Claim {
    if inHand[index] != generation { released(index) }
    switch names[generation] {
    case .sent(let first): return .sent(first)
    case .inHand(let other) where other != index: return .others
    case .inHand: return .mine
    case nil:
      names[generation] = .inHand(index)
      inHand[index] = generation
      return .mine
    }
  }

  /// A name is in the archive, with its content in this generation.
  mutating func sent(_ index: Int, _ generation: Generation) {
    released(index)
    if case .sent = names[generation] { return }
    names[generation] = .sent(index)
  }

  /// A name does not bring the content that it was to bring.
  mutating func released(_ index: Int) {
    guard let generation = inHand.removeValue(forKey: index) else { return }
    if case .inHand(index) = names[generation] { names[generation] = nil }
  }
}
