package import MigrationWire

/// The end of one of several parts, for the user.
package struct PartEnd: Sendable {
  package let number: UInt16
  package let name: String
  /// The root that is left out, while the rest of the part arrives; nil for the whole part.
  private(set) package var root: [UInt8]?
  package let result: TransferOutcome
  /// Whether a later session may continue a part that has failed.
  package let mayResume: Bool
  /// Whether the receiver's user has not taken it.
  package let isDeclined: Bool

  package init(_ number: UInt16, _ name: String, _ result: TransferResult) {
    (self.number, self.name, root, self.result) = (number, name, nil, .success(result))
    (mayResume, isDeclined) = (false, false)
  }

  package init(_ number: UInt16, _ name: String, root: [UInt8]? = nil, _ fault: Failure) {
    self.number = number
    self.name = name
    self.root = root
    result = fault.outcome
    mayResume = root == nil && fault.isResumable
    isDeclined = [.declined, .notAllowed, .told(.refused)].contains(fault.code)
  }

  /// The same end, with the root's place instead of its name.
  func placed(_ place: ([UInt8]) -> [UInt8]) -> PartEnd {
    var end = self
    end.root = root.map(place)
    return end
  }
}
