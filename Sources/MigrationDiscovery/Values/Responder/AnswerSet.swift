/// A set of kinds of answers, always in order.
struct AnswerSet: Equatable, Sequence, ExpressibleByArrayLiteral, Sendable {
  private var bits: UInt8

  private init(bits: UInt8) { self.bits = bits }
  init(_ kinds: some Sequence<AnswerKind>) { bits = kinds.reduce(0) { $0 | 1 << $1.rawValue } }
  init(arrayLiteral kinds: AnswerKind...) { self.init(kinds) }

  /// Records that are announced after probing (RFC 6762 §8.3).
  static let announced: AnswerSet = [.pointer, .enumeration, .service, .text, .v4, .v6]
  /// Records that are withdrawn at the end. Other devices may still have services of the type, so
  /// that record is not withdrawn.
  static let withdrawn: AnswerSet = [.pointer, .service, .text, .v4, .v6]
  /// Records that are withdrawn with a name.
  static let instance: AnswerSet = [.pointer, .service, .text]

  var isEmpty: Bool { bits == 0 }
  func contains(_ kind: AnswerKind) -> Bool { bits & 1 << kind.rawValue != 0 }
  func isDisjoint(with other: AnswerSet) -> Bool { bits & other.bits == 0 }
  func union(_ other: AnswerSet) -> AnswerSet { AnswerSet(bits: bits | other.bits) }
  func subtracting(_ other: AnswerSet) -> AnswerSet { AnswerSet(bits: bits & ~other.bits) }

  mutating func insert(_ kind: AnswerKind) { bits |= 1 << kind.rawValue }
  mutating func formUnion(_ other: AnswerSet) { bits |= other.bits }
  mutating func subtract(_ other: AnswerSet) { bits &= ~other.bits }

  func makeIterator() -> some IteratorProtocol<AnswerKind> {
    AnswerKind.allCases.lazy.filter { [self] in contains($0) }.makeIterator()
  }
}
