import MigrationArchive
import MigrationEngine
import MigrationSystem

extension SenderLoop {
  /// Does what the engine says: at once, or by a worker.
  func perform(_ action: SenderEngine.Action) {
    switch action {
    case .walk: start(WalkWorker(source: context.source, stop: walkStop))
    case .lookUpUnfinished: start(LookUpWorker(source: context.source, store: context.store))
    case .look: look()
    case .choose(let found): context.caller.choose(among: found)
    case .probe(let place): probe(place)
    case .askCode(let device): askCode(at: device)
    case .stopPreparing:
      walkStop.set()
      context.caller.stopAsking()
    case .deriveSecret(let code): start(DeriveWorker(code: code))
    case .tell(let event): context.observe(event)
    case .tellProgress(let number, let phase, let total, let fraction): tell(number, phase, total, fraction)
    case .finish(let result): finish(result)

    case .dial(let purpose, let place): dial(purpose, at: place)
    case .stopDialing: dialStop?.set()

    case .converse(let id): if let connection = encounter?.connection.take() { controls.add(id, connection) }
    case .say(let id, let message): controls.say(id, message)
    case .close(let id, let deadline), .hurryClosing(let id, let deadline): controls.close(id, until: deadline)

    case .keepHeld(let number, let page): held[number, default: HeldItems()].add(page)
    case .keepPartial(let number, let partial): held[number, default: HeldItems()].add(partial)
    case .export(let number, let order): export(number, order)
    case .openStream(let number, let join, let attempts): open(number, join, attempts)
    case .moveFrames(let number, let lost, let heir): sessions[number]?.queue.lost(lost, replacedBy: heir)
    case .retire(let number, let stream): sessions[number]?.queue.retire(stream)
    case .forgetStream(let number, let stream): sessions[number]?.queue.ended(stream)
    case .refuse(let number, let mark): sessions[number]?.queue.refuse(mark)
    case .finishWindow(let number): sessions[number]?.queue.finish()
    case .stopSession(let number): sessions[number]?.queue.stop()
    case .noteFinish(let number, let id, let finish): note(finish, number, of: id)
    case .readWindow(let number): handle(.window(number, sessions[number]?.queue.counts() ?? .init()))

    case .recordDone(let id, let done, let refusals): record(done, refusals, of: id)
    case .note(let id, let arrived, let total, let address):
      remember(.progress(id, arrived: arrived, total: total, address: address), of: id)
    case .forget(let id): forget(id)
    }
  }
}
