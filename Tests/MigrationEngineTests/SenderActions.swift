import MigrationWire

@testable import MigrationEngine

extension SenderEngine.Action {
  /// The action in a few words, with all its variable parts.
  var text: String {
    switch self {
    case .walk: "walk"
    case .lookUpUnfinished: "look up"
    case .look: "look"
    case .choose(let found): "choose among \(found.map(\.shownName).joined(separator: ", "))"
    case .probe(.target): "probe"
    case .probe(let place): "probe \(place)"
    case .askCode(let device): "ask code of \(device.shown)"
    case .stopPreparing: "stop preparing"
    case .deriveSecret(let code): "derive \(String(decoding: code.digits, as: UTF8.self))"
    case .tell(let event, _): "tell \(event.text)"
    case .tellProgress(let session, let phase, let total, let fraction):
      "progress \(session.value) \(phase) of \(total.isEstimate ? "about " : "")\(total.tally.items)/\(total.tally.bytes)"
        + (fraction.map { " \($0)" } ?? "")
    case .finish(.success(let result)): "finish done \(result.text)"
    case .finish(.failure(let failure)): "finish \(failure.text)"
    case .dial(.pair, let place): "dial to pair" + (place == .probed ? "" : " at \(place)")
    case .dial(.resume(let transfer), let place):
      "dial to resume \(transfer.map { "\($0)" } ?? "the paired")" + (place == .target ? "" : " at \(place)")
    case .dial(.greet(let key), _): "dial to greet \(key.bytes[0])"
    case .stopDialing: "stop dialing"
    case .converse(let connection): "converse \(connection.number)"
    case .say(let connection, let message): "say \(connection.number) \(message.text)"
    case .close(let connection, let until): "close \(connection.number) until \(rounded(until))"
    case .hurryClosing(let connection, let until): "hurry to close \(connection.number) until \(rounded(until))"
    case .beginLedger(let session): "begin ledger \(session.value)"
    case .keepHeld(let session, let page): "keep \(session.value) held \(page.marks.count)"
    case .keepPartial(let session, let partial):
      "keep \(session.value) partial \(String(decoding: partial.path.bytes, as: UTF8.self))"
    case .recordPlan(let session, let record):
      "record plan \(session.value) \(record.transfer) of \(record.plan.parts.count) for \(record.label) at "
        + record.address + (record.keepsPairing ? ", kept" : "")
    case .export(let session, let order): "export \(session.value) \(order.text)"
    case .abandonExport(let session): "abandon export \(session.value)"
    case .openStream(let session, let join, let attempts, let route):
      "open \(session.value).\(join.stream)" + (join.replaces.map { " for \($0)" } ?? "")
        + (attempts > 0 ? " attempts \(attempts)" : "") + route.text
        + (join.session == Fixture.verdict.session ? "" : " of another session")
    case .moveFrames(let session, let from, let to): "move \(session.value).\(from) to \(to)"
    case .retire(let session, let stream): "retire \(session.value).\(stream)"
    case .forgetStream(let session, let stream): "forget stream \(session.value).\(stream)"
    case .refuse(let session, let mark):
      "refuse \(session.value)" + (mark == Fixture.refusedMark ? "" : " something else")
    case .finishWindow(let session): "finish window \(session.value)"
    case .stopSession(let session): "stop \(session.value)"
    case .readWindow(let session): "read window \(session.value)"
    case .noteFinish(let session, let transfer, let part, let finish):
      "note finish \(session.value) \(place(transfer, part)) \(finish.total.items)/\(finish.total.bytes)"
    case .recordDone(let transfer, let part, let done, let refusals):
      "record \(place(transfer, part)) \(done.total.items)/\(done.total.bytes) refusals \(refusals.count)"
    case .note(let transfer, let arrived, let total, let address):
      "note \(transfer) \(arrived.items)/\(arrived.bytes) of \(total.items)/\(total.bytes) at \(address)"
    case .forget(let transfer): "forget \(transfer)"
    }
  }
}

extension SenderEngine.StreamRoute {
  fileprivate var text: String {
    switch self {
    case .asControl: ""
    case .address(let address): " at port \(address.port)"
    case .round(let addresses): " at one of the ports \(addresses.map(\.port))"
    }
  }
}

/// Names a part; the first one by its transfer.
private func place(_ transfer: TransferID, _ part: UInt16) -> String { "\(transfer)" + (part == 0 ? "" : ".\(part)") }

/// Thousandths, so that sums of seconds can be compared.
func rounded(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 }

extension SenderEngine.ExportOrder {
  fileprivate var text: String {
    let without = refusedRoots.map { String(decoding: $0, as: UTF8.self) }
    return [
      place(transfer, part), request?.bundleIdentifier ?? "no app", isCompressible ? "compressible" : "plain",
    ].joined(separator: ", ") + (without.isEmpty ? "" : " without \(without.joined(separator: ", "))")
  }
}

extension TransferResult {
  fileprivate var text: String {
    "\(total.items)/\(total.bytes) sent \(sentBytes) saved \(savedBytes) held \(heldBytes) in \(seconds)"
      + " unsent \(unsent) losses \(losses.count) left out \(leftOut.present) not stored \(notStored)"
      + " left behind \(lostAttributes.count)" + (concludedAt.map { " concluded \($0)" } ?? "")
      + (failedParts == 0 ? "" : " failed \(failedParts)")
  }
}

extension Failure {
  fileprivate var text: String { "\(kind): \(message)" + (hint.map { " (\($0))" } ?? "") }
}

extension TransferEvent {
  fileprivate var text: String {
    switch self {
    case .connecting(let address): "connecting \(address)"
    case .queued(let place): "queued \(place)"
    case .found(let label, let address): "found \(label) \(address)"
    case .relayed(let relay, let bytes): "\(bytes) bytes through \(relay)"
    case .dataConnection(.direct(let isIPv6)): isIPv6 ? "directly, by IPv6" : "directly, by IPv4"
    case .dataConnection(.relay(let relay)): "through \(relay) again"
    case .paired(let label, let address, let isKnown): "paired \(label) \(address)\(isKnown ? ", known" : "")"
    case .offer(let offer, let available, _):
      "offer \(offer.text)" + (available == nil ? "" : " with room")
    case .interrupted(let reason): "interrupted \(reason)"
    case .resumed(let held): "resumed \(held)"
    case .notice(let text): "notice \(text)"
    case .notStored(let item, _): "not stored \(String(decoding: item.path, as: UTF8.self)) \(item.reason.name)"
    case .renamed(let path, let target):
      "renamed \(String(decoding: path, as: UTF8.self)) to \(String(decoding: target, as: UTF8.self))"
    case .done(let result): "done \(result.text)"
    case .plan(let parts, _): "plan of \(parts.count)"
    case .partEnded(let end):
      switch end.result {
      case .success: "\(end.name) done"
      case .failure(let failure):
        "\(end.root.map { String(decoding: $0, as: UTF8.self) } ?? end.name) failed \(failure.text)"
      }
    default: "\(self)"
    }
  }
}

extension Offer {
  fileprivate var text: String { "\(items)/\(bytes) allocated \(allocated) flags \(flags.rawValue)" }
}

extension PartTotals {
  fileprivate var text: String {
    (part == 0 ? "" : "\(part) ") + "\(items)/\(bytes) allocated \(allocated) flags \(flags.rawValue)"
  }
}

extension ControlMessage {
  fileprivate var text: String {
    switch self {
    case .greeting(let greeting): "greeting \(greeting.label)"
    case .plan(let plan): "plan \(plan.transfer.map { "\($0)" } ?? "new") of \(plan.parts.count)"
    case .offer(let offer): "offer \(offer.text)"
    case .failed(let failed): "failed \(failed.part) \(failed.close.text)"
    case .drop(let marks): "drop \(marks.count)"
    case .notStored(let item): "not stored \(String(decoding: item.path, as: UTF8.self))"
    case .finish(let finish): "finish \(finish.total.items)/\(finish.total.bytes)"
    case .receipt: "receipt"
    case .addresses(let addresses): "addresses \(addresses.listening.map(\.port)) \(addresses.dialling.map(\.port))"
    case .pong(let token): "pong \(token)"
    case .close(let close): "close \(close.text)"
    default: "\(self)"
    }
  }
}

extension Close {
  /// Its code, its cause, and its words.
  var text: String {
    "\(code.rawValue)" + (cause.map { " cause \($0.rawValue)" } ?? "") + (message.isEmpty ? "" : " \(message)")
  }
}

extension SenderEngine {
  /// The phase in a few words.
  var phaseName: String {
    switch phase {
    case .idle: "idle"
    case .lookingUp: "looking up"
    case .looking: "searching"
    case .choosing: "choosing"
    case .probing: "probing"
    case .askingCode: "asking"
    case .deriving: "deriving"
    case .dialing: "dialing"
    case .waiting(_, let moment): "waiting until \(rounded(moment))"
    case .inSession: "inSession"
    case .closing: "closing"
    case .counting: "counting"
    case .finishing(.success): "finishing done"
    case .finishing(.failure(let failure)): "finishing \(failure.text)"
    case .over: "over"
    }
  }
}
