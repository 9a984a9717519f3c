import MigrationSystem

extension RelayLoop {
  /// The bytes of a joined call in one direction.
  struct Flow {
    /// How many bytes of one direction are moved before other connections have their turn.
    private static let turn = 1 << 20
    /// The most pipes that no flow needs now.
    private static let mostFree = 16

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
    ///
    /// `free` are the pipes that no flow needs: only a flow whose target is slower than its source keeps one.
    mutating func move(
      from source: borrowing StreamSocket, to target: borrowing StreamSocket, atMost allowance: Int,
      _ free: inout [BytePipe]
    ) throws(SystemError) -> (taken: Int, moved: Int) {
      if rest == .over { return (0, 0) }
      let known = self.pipe ?? free.popLast()
      let pipe = if let known { known } else { try BytePipe() }
      self.pipe = nil
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
      if pipe.filled > 0 { self.pipe = pipe } else if free.count < Self.mostFree { free.append(pipe) }
      return (taken, moved)
    }
  }
}
