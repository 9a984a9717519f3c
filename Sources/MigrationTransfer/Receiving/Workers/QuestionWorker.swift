import MigrationEngine
import MigrationSystem

/// Asks the user of this device, on a thread that may wait for the terminal.
struct QuestionWorker: Sendable {
  let setup: ReceiverSetup
  let question: ReceiverEngine.Question
  /// Ends the waiting for an answer.
  let ending: Wakeup

  func run() -> WorkerReport {
    switch question {
    case .restart: WorkerReport(.answered(setup.helpers.restart?(ending.raw)))
    case .consent(let offer, let label, let address, let room):
      WorkerReport(
        .answered(
          setup.helpers.consent?(
            ConsentQuestion(
              offer: offer, label: label, address: address, availableBytes: room.availableBytes,
              mostBytes: room.mostBytes), ending.raw)))
    }
  }
}
