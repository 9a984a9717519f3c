import MigrationWire

@testable import MigrationEngine

/// The actions of a receiver in words that tests can compare.
enum Words {
  static func text(_ action: ReceiverEngine.Action) -> String {
    switch action {
    case .takeBack: "take back"
    case .listen: "listen"
    case .announce: "announce"
    case .withdrawAnnouncement: "withdraw announcement"
    case .tell(let event, _, _): "tell \(text(event))"
    case .tellProgress(let id, let phase, let total, let fraction):
      "tell progress of \(id): \(phase) of \(total.isEstimate ? "about " : "")\(text(total.tally))"
        + (fraction.map { " at \($0)" } ?? "")
    case .finish(let result): "finish: \(text(result))"
    case .drop(let id): "drop \(id.number)"
    case .pauseAccepting(let until): "pause until \(until)"
    case .greet(let id, let tls, let hello): "greet \(id.number) until \(tls), \(hello)"
    case .awaitShare(let id, let until): "await share \(id.number) until \(until)"
    case .exchange(let id, let until): "exchange \(id.number) until \(until)"
    case .keepProof(let id, let isRight, let until):
      "keep \(isRight ? "right" : "wrong") proof \(id.number) until \(until)"
    case .confirm(let id, let until): "confirm \(id.number) until \(until)"
    case .welcome(let id, let mode, let until): "welcome \(id.number) to \(mode) until \(until)"
    case .turnAway(let id, let reason, let place):
      "turn away \(id.number): \(reason)" + (place > 0 ? " at \(place)" : "")
    case .refuseStream(let id, _): "refuse stream \(id.number)"
    case .dismiss(let id, let makesRoom): "dismiss \(id.number)" + (makesRoom ? " for room" : "")
    case .makeCode: "make code"
    case .forgetCode: "forget code"
    case .ask(.restart): "ask restart"
    case .ask(.consent(let question, _)):
      "ask consent to "
        + question.parts.map { part in
          "\(part.offer.items), \(part.room.availableBytes.map { "\($0)" } ?? "?") free"
            + (part.room.mostBytes.map { ", \($0) at most" } ?? "")
        }.joined(separator: "; ") + " of \(question.label) at \(question.address)"
    case .withdrawQuestion: "withdraw question"
    case .converse(let id): "converse \(id.number)"
    case .say(let id, let message): "say \(id.number) \(text(message))"
    case .close(let id, let until): "close \(id.number) until \(until)"
    case .hurryClosing(let id, let until): "hurry to close \(id.number) until \(until)"
    case .judgePlan(let number, let id, let plan, let parts, _):
      "judgePlan \(number.value): \(parts) of \(plan.parts.count) for \(id)"
    case .record(let number, let record):
      "record \(number.value): \(record.plan.parts.count) for \(record.transfer) of key \(record.client.bytes[0]), "
        + "\(record.label) at \(record.address)" + (record.keepsPairing ? ", kept" : "")
    case .stage(let number, let order): "stage \(number.value): \(text(order))"
    case .readLedger(let number): "read ledger \(number.value)"
    case .dropItems(let number, let marks): "drop items \(number.value): \(marks)"
    case .serve(let id, let number, let join): "serve \(id.number) in \(number.value) as \(join.stream)"
    case .endStream(let id): "end stream \(id.number)"
    case .dial(let number, let addresses, let port): "dial \(number.value): \(addresses.map(\.port)) from \(port)"
    case .endDial(let number): "end dial \(number.value)"
    case .sync(let number): "sync \(number.value)"
    case .endSync(let number): "end sync \(number.value)"
    case .lookForData(let number): "look for data \(number.value)"
    case .shutGate(let number): "shut gate \(number.value)"
    case .openGate(let number): "open gate \(number.value)"
    case .discardData(let number): "discard data \(number.value)"
    case .closeGate(let number): "close gate \(number.value)"
    case .importItems(let id, let part, let finish, _):
      "import \(id)" + (part == 0 ? "" : ".\(part)") + (finish.map { " of \($0.0.value): \(text($0.1.total))" } ?? "")
    case .interruptImport(let id): "interrupt import \(id)"
    case .note(let id): "note \(id)"
    case .forget(let id): "forget \(id)"
    case .discard(let id): "discard \(id)"
    case .release(let id): "release \(id)"
    case .retake(let id): "retake \(id)"
    }
  }

  static func text(_ phase: ReceiverEngine.Phase) -> String {
    switch phase {
    case .starting: "starting"
    case .serving(let served): served.isEmpty ? "open" : served.map(text).joined(separator: "; ")
    case .finishing(let result, let until): "finishing until \(until), \(text(result))"
    case .over: "over"
    }
  }

  private static func text(_ place: ReceiverEngine.Phase.ServedTransfer) -> String {
    switch place {
    case .engaged(let transfer, let session): "engaged in \(transfer)" + (session.map { " by \($0.value)" } ?? "")
    case .away(let transfer, let until, let result): "away \(transfer) until \(until), \(text(result))"
    }
  }

  static func text(_ order: ReceiverEngine.StagingOrder) -> String {
    "part \(order.part), \(order.offer.items) for \(order.transfer), held \(text(order.held))"
      + (order.isCompressible ? "" : ", plain")
  }

  static func text(_ tally: Tally) -> String { "\(tally.items)/\(tally.bytes)" }

  static func text(_ result: TransferOutcome) -> String {
    switch result {
    case .success(let result): text(result)
    case .failure(let failure): "\(failure.kind.rawValue) \(failure.message)"
    }
  }

  static func text(_ result: TransferResult) -> String {
    "\(text(result.total)), sent \(result.sentBytes)-\(result.savedBytes) in \(Int(result.seconds)), "
      + "held \(result.heldBytes), unsent \(result.unsent), left \(result.leftOut.present)+\(result.leftOut.differing), "
      + "not stored \(result.notStored)"
      + (result.lostAttributes.isEmpty ? "" : ", behind \(result.lostAttributes.count)")
      + (result.concludedAt.map { ", concluded \($0)" } ?? "")
      + (result.failedParts == 0 ? "" : ", failed \(result.failedParts)")
  }

  static func text(_ message: ControlMessage) -> String {
    switch message {
    case .greeting(let greeting): "greeting of \(greeting.label)"
    case .verdict(let verdict):
      "verdict \(verdict.transfer) \(verdict.session) \(verdict.window >> 20)M \(verdict.streams): "
        + verdict.parts.map(text).joined(separator: ", ") + (verdict.flags.contains(.keepPairing) ? "; kept" : "")
    case .accept(let accept): "accept" + (accept.traits == nil ? "" : " traits")
    case .failed(let failed): "failed \(failed.part) \(failed.close.text)"
    case .held(let held): "held \(held.kind) \(held.marks)"
    case .partial(let partial): "partial \(String(decoding: partial.path.bytes, as: UTF8.self))"
    case .heldEnd(let end): "held end \(text(end.held))"
    case .progress(let progress): "progress \(progress.phase) \(progress.done)"
    case .done(let done): "done \(text(done.total))"
    case .notStored(let item): "not stored \(String(decoding: item.path, as: UTF8.self))"
    case .pong(let token): "pong \(token)"
    case .close(let close): "close \(close.text)"
    case .addresses(let addresses): "addresses \(addresses.listening.map(\.port)) \(addresses.dialling.map(\.port))"
    default: "\(message)"
    }
  }

  static func text(_ part: Verdict.Judgement) -> String {
    switch part {
    case .taken(let without): "taken" + (without.isEmpty ? "" : " without \(without.count)")
    case .refused(let close): "refused \(close.code.rawValue)"
    case .finished: "finished"
    }
  }

  static func text(_ event: TransferEvent) -> String {
    switch event {
    case .listening(let listening): "listening \(listening.addresses) \(listening.port) \(listening.from)"
    case .code(let code, let lifetime, let place):
      "code \(place?.shown(with: code) ?? code.shown) for \(Int(lifetime))"
    case .relayed(let relay, let bytes): "\(bytes) bytes through \(relay)"
    case .dataConnection(.direct(let isIPv6)): isIPv6 ? "directly, by IPv6" : "directly, by IPv4"
    case .dataConnection(.relay(let relay)): "through \(relay) again"
    case .wrongCode(let attempt, let allowed, let from, let left):
      "wrong code \(attempt)/\(allowed) from \(from), \(left) left"
    case .codesSpent(let count, let from, let isOver): "codes spent \(count) \(from.count)\(isOver ? " over" : "")"
    case .paired(let label, let address, let isKnown): "paired \(label) at \(address)\(isKnown ? ", known" : "")"
    case .offer(let offer, let bytes, _): "offer \(offer.items), \(bytes.map { "\($0)" } ?? "?") free"
    case .interrupted(let reason): "interrupted: \(reason)"
    case .resumed(let held): "resumed \(held)"
    case .notice(let text): "notice \(text)"
    case .notStored(let item, _):
      "\(item.reason.party == .sender || item.reason == .existsAndDiffers ? "unsent" : "not stored") \(String(decoding: item.path, as: UTF8.self))"
    case .renamed(let path, let target):
      "renamed \(String(decoding: path, as: UTF8.self)) to \(String(decoding: target, as: UTF8.self))"
    case .done(let result): "done \(text(result))"
    case .failed(let failure): "failed \(failure.kind.rawValue) \(failure.message)"
    case .plan(let parts, let room): "plan of \(parts.count), \(room.map { "\($0)" } ?? "?") free"
    case .partEnded(let end):
      switch end.result {
      case .success(let result): "\(end.name) done \(result.total.items)/\(result.total.bytes)"
      case .failure(let failure):
        "\(end.root.map { String(decoding: $0, as: UTF8.self) } ?? end.name) failed \(failure.kind.rawValue) \(failure.message)"
      }
    case .codeAwaited(let lifetime): "code awaited for \(Int(lifetime))"
    case .staged: "staged"
    case .of(let transfer, let event): "\(transfer): \(text(event))"
    default: "\(event)"
    }
  }
}

extension ImportProgress.Phase: CustomStringConvertible {
  public var description: String {
    switch self {
    case .verifying: "verifying"
    case .importing: "importing"
    case .makingDurable: "makingDurable"
    default: "phase \(rawValue)"
    }
  }
}
