package import MigrationEngine
import MigrationSystem

/// An error on reading or writing the remembered transfers.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A lower-case clause.
  package let description: String
  /// Whether another process has it.
  package let isInUse: Bool

  init(_ description: String, _ cause: SystemError) {
    self.init(description: "\(description): \(cause.words)", isInUse: false)
  }

  private init(description: String, isInUse: Bool) {
    self.description = description
    self.isInUse = isInUse
  }

  /// A transfer is another process's.
  static func busy(_ identifier: String, _ holder: CInt?) -> StoreError {
    StoreError(
      description: "another \(holder.map { "process (\($0))" } ?? "process") works on the transfer \(identifier)",
      isInUse: true)
  }

  package var failure: TransferFailure {
    TransferFailure(
      isInUse ? .refused : .failed, description,
      hint: isInUse
        ? "Wait until it is done, or end it."
        : "That directory must be yours to write to; PEER_HOME names it for the command.")
  }
}
