/// How many seconds the end of a run may take after the engine decides it or a signal asks for it.
package enum EndLimits {
  /// For the last messages to the other device.
  package static let lastMessages = 0.4
  /// For the receiver to answer a plan that it may have recorded, and for this device to record it.
  package static let plan = 0.4
  /// For workers to end; the next run does the work that they leave undone.
  package static let workers = 0.9
  /// For forgetting a finished transfer when no other time is left.
  package static let forgetting = 0.05
  /// For the last messages of a run that the user has not stopped.
  package static let unhurried = 2.0
  /// For an import to report progress again; after that, the next run continues it.
  package static let importProgress = 1.0
  /// For the sender of a finished transfer to learn the result, and to send RECEIPT.
  package static let receipt = 60.0
}
