/// The directories of a batch that the destination has unchanged. Such a directory is in the
/// archive only if an item in it is. Several readers decide about one tree, in any order.
struct UnchangedFolders: Sendable {
  private enum State {
    case leftOut
    /// An item in the directory is in the archive, and so are all directories above the item.
    case needed
  }

  private var states: [Int: State] = [:]

  /// Leaves a directory out; false if something in it is in the archive.
  mutating func leaveOut(_ directory: Int) -> Bool {
    guard states[directory] == nil else { return false }
    states[directory] = .leftOut
    return true
  }

  /// Records that an item with this parent is in the archive. Returns the directories above it that have
  /// been left out: they are in the archive from now on.
  mutating func need(_ parent: Int32, above: (Int) -> Int32) -> [Int] {
    var found: [Int] = []
    var current = Int(parent)
    while current >= 0, states[current] != .needed {
      if states.updateValue(.needed, forKey: current) == .leftOut { found.append(current) }
      current = Int(above(current))
    }
    return found
  }

  /// The number of directories that stay left out; each is counted once.
  mutating func take() -> UInt64 {
    let count = states.values.count { $0 == .leftOut }
    states = [:]
    return UInt64(count)
  }
}
