import MigrationEngine
import MigrationSystem
import MigrationWire

/// The actions in front of READY.
extension ReceiverLoop {
  /// Closes a connection of the lobby, or one that rests, without a word.
  mutating func close(_ id: ConnectionID) {
    _ = entrance?.lobby.remove(id)
    served[id] = nil
  }

  mutating func greet(_ id: ConnectionID, _ tlsUntil: Double, _ helloUntil: Double) {
    guard let socket = entrance?.lobby.remove(id), let connection = try? ServedConnection(id) else {
      return setup.post(.departed(id))
    }
    // Before its thread: the call that ends everything must not miss a connection that has just
    // come.
    served[id] = connection
    let (tlsUntil, helloUntil) = (setup.clock.instant(tlsUntil), setup.clock.instant(helloUntil))
    pair(id) { $0.greet(socket, tlsUntil: tlsUntil, helloUntil: helloUntil) }
  }

  func awaitShare(_ id: ConnectionID, _ deadline: Double) {
    let deadline = setup.clock.instant(deadline)
    pair(id) { $0.awaitShare(until: deadline) }
  }

  func exchange(_ id: ConnectionID, _ deadline: Double) {
    let deadline = setup.clock.instant(deadline)
    guard let secret else { return turnAway(id, .notPairing) }
    pair(id) { $0.exchange(secret, until: deadline) }
  }

  func confirm(_ id: ConnectionID, _ deadline: Double) {
    let deadline = setup.clock.instant(deadline)
    pair(id) { $0.confirm(until: deadline) }
  }

  func welcome(_ id: ConnectionID, _ mode: ConnectionMode, _ deadline: Double) {
    let deadline = setup.clock.instant(deadline)
    pair(id) { $0.welcome(mode, until: deadline) }
  }

  func turnAway(_ id: ConnectionID, _ reason: AbortReason) { pair(id) { $0.turnAway(reason) } }

  func refuse(_ id: ConnectionID, _ close: Close) { pair(id) { $0.refuse(close) } }

  /// Starts a step of a connection.
  private func pair(_ id: ConnectionID, _ step: @escaping @Sendable (PairingWorker) -> WorkerReport) {
    guard let connection = served[id] else { return setup.post(.departed(id)) }
    let worker = PairingWorker(setup: setup, served: connection)
    start("connection") {
      step(worker)
    } failing: { _ in
      .departed(id)
    }
  }

  // MARK: Codes and questions

  func makeCode() {
    let given = setup.options.code
    start("code") {
      try CodeWorker.run(given)
    } failing: {
      .codeMade(.failure($0))
    }
  }

  func ask(_ question: ReceiverEngine.Question) {
    // One question is asked at a time: the previous one has ended.
    questionEnding.clear()
    let worker = QuestionWorker(setup: setup, question: question, ending: questionEnding)
    start("question") {
      worker.run()
    } failing: { _ in
      .answered(nil)
    }
  }
}
