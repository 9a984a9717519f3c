/// The metadata that is preserved only if the receiver's user asks for it (Protocol §8.2).
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
