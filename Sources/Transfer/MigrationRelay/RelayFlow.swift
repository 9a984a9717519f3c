import MigrationSystem

extension RelayLoop {
  /// The bytes of a joined call in one direction.
  struct Flow: ~Copyable {
    /// How many bytes of one direction are moved before other connections have their turn.
    private static let turn = 1 << 20

    /// The reason why a flow rests.
    enum Rest: Equatable {
      /// It waits for bytes, or for room.
      case source
      case target
      /// It waits for the token's next bytes.
      case allowance
      /// Its turn is over.
      case turn
      /// The other end of this direction knows that no more comes.
      case over
    }

    private var pipe: BytePipe?
    private var isEnded = false
    private(set) var rest = Rest.source

    /// Moves as many bytes as possible now. Returns how many it has taken, and how many have left.
    mutating func move(
      from source: borrowing StreamSocket, to target: borrowing StreamSocket, atMost allowance: Int,
      _ pipes: inout BytePipes
    ) throws(SystemError) -> (taken: Int, moved: Int) {
      if rest == .over { return (0, 0) }
      var pipe: BytePipe
      if let own = self.pipe.take() { pipe = own } else { pipe = try pipes.take() }
      var (moved, taken) = (0, 0)
      rest = .turn
      while moved < Self.turn {
        if pipe.filled == 0 {
          if isEnded {
            try target.shutdownWrite()
            rest = .over
            break
          }
          guard taken < allowance else {
            rest = .allowance
            break
          }
          guard let count = try pipe.fill(from: source, most: allowance - taken) else {
            rest = .source
            break
          }
          isEnded = count == 0
          taken += count
        } else {
          guard let count = try pipe.empty(into: target) else {
            rest = .target
            break
          }
          moved += count
        }
      }
      if pipe.filled == 0 { pipes.put(pipe) } else { self.pipe = consume pipe }
      return (taken, moved)
    }
  }

  /// Pipes that no flow needs now: only a flow whose target is slower than its source keeps one.
  struct BytePipes: ~Copyable {
    private static let most = 16

    private final class Box {
      var pipe: BytePipe?
      init(_ pipe: consuming BytePipe) { self.pipe = consume pipe }
    }

    private var free: [Box] = []

    mutating func take() throws(SystemError) -> BytePipe {
      if let pipe = free.popLast()?.pipe.take() { return pipe }
      return try BytePipe()
    }

    mutating func put(_ pipe: consuming BytePipe) {
      if free.count < Self.most { free.append(Box(pipe)) }
    }
  }
}
