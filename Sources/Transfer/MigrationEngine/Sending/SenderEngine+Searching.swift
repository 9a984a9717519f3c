package import MigrationWire

/// The search for devices that wait on this network, and the user's choice among them.
extension SenderEngine {
  /// For how many seconds a sender searches: enough for two questions and late answers.
  package static let searchLength = 3.0

  mutating func look(_ plan: DialPlan?, _ actions: inout [Action]) {
    phase = .looking(plan)
    actions.append(.look)
  }

  /// The devices that wait in this network are known.
  mutating func found(
    _ result: Result<[DeviceAddress], Failure>, _ spread: Double, _ now: Double, _ actions: inout [Action]
  ) {
    guard case .looking(let plan) = phase else { return }
    switch (result, plan) {
    case (.failure(let fault), nil): prepareFinish(.failure(fault), now, &actions)
    case (.success([]), nil) where settings.hasRelay: probe(.relay, &actions)
    case (.success(let found), nil): pair(withOneOf: found, now, &actions)
    // A temporary loss of the network ends no transfer.
    case (_, var plan?):
      let step = plan.looked((try? result.get()) ?? [], spread, now: now, &actions)
      follow(step, plan, now, &actions)
    }
  }

  /// Uses the only device, after naming it; the user chooses among several.
  mutating func pair(withOneOf found: [DeviceAddress], _ now: Double, _ actions: inout [Action]) {
    switch found.count {
    case 0: prepareFinish(.failure(.noneFound), now, &actions)
    case 1:
      actions.append(.tell(.found(label: found[0].name ?? "", address: found[0].host)))
      probe(.found(0), &actions)
    default:
      phase = .choosing(found)
      actions.append(.choose(found))
    }
  }

  mutating func chosen(_ result: Result<Int, Failure>, _ now: Double, _ actions: inout [Action]) {
    guard case .choosing(let found) = phase else { return }
    switch result {
    case .success(let index) where found.indices.contains(index): probe(.found(index), &actions)
    case .success: prepareFinish(.failure(.noneFound), now, &actions)
    case .failure(let failure): prepareFinish(.failure(failure), now, &actions)
    }
  }
}

extension Failure {
  /// A search has found no receiver.
  package static let noneFound = Failure(
    .unreachable, "no device is waiting on this network",
    hint: "Start 'peer receive' on the other device, in the same network, or give its address with --to. "
      + "A network for guests or a VPN may keep the devices apart, and firewalls must allow UDP port 5353.")
}
