import MigrationWire

/// The files of a batch that have several names, and the name that carries the content of each.
///
/// Names with the same generation are names of one file in one state. A file that changed
/// meanwhile, or that reuses a freed inode number, is sent separately.
struct LinkedNames: Sendable {
  /// The name that carries the content of a file.
  enum Carrier: Equatable, Sendable {
    /// The name that asks.
    case mine
    /// Another name, which a reader is processing.
    case others
    /// This name, which is in the archive.
    case sent(Int)
  }

  private enum Name: Sendable {
    case inHand(Int)
    case sent(Int)
  }

  private var names: [Generation: Name] = [:]
  private var inHand: [Int: Generation] = [:]

  /// Takes the content of a generation for a name.
  mutating func carrier(_ index: Int, _ generation: Generation) -> Carrier {
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

  /// Records that a name is in the archive, with its content in this generation.
  mutating func sent(_ index: Int, _ generation: Generation) {
    released(index)
    if case .sent = names[generation] { return }
    names[generation] = .sent(index)
  }

  /// Records that a name does not carry the content that it had taken.
  mutating func released(_ index: Int) {
    guard let generation = inHand.removeValue(forKey: index) else { return }
    if case .inHand(index) = names[generation] { names[generation] = nil }
  }
}
