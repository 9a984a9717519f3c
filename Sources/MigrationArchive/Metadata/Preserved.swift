/// What the receiver's user wants kept that is not kept by itself (Protocol §8.2).
package struct Preserved: Equatable, Sendable {
  /// Owners and groups, by their numbers.
  package var owners: Bool
  /// Set-user-id and set-group-id bits.
  package var setIDBits: Bool

  package init(owners: Bool = false, setIDBits: Bool = false) {
    self.owners = owners
    self.setIDBits = setIDBits
  }
}
