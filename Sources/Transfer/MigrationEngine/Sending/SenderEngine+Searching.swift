package import MigrationWire

/// The search for devices that wait on this network, and the user's choice among them.
extension SenderEngine {
  /// For how many seconds a sender searches: enough for two questions and late answers.
  package static let searchLength = 3.0

  mutating func look(_ plan: DialPlan?) {
    phase = .looking(plan)
    act(.look)
  }

  /// The devices that wait in this network are known.
  mutating func found(_ result: Result<[DeviceAddress], Failure>, _ spread: Double) {
    guard case .looking(let plan) = phase else { return }
    switch (result, plan) {
    case (.failure(let fault), nil): prepareFinish(.failure(fault))
    case (.success([]), nil) where settings.hasRelay: probe(.relay)
    case (.success(let found), nil): pair(withOneOf: found)
    // A temporary loss of the network ends no transfer.
    case (_, var plan?):
      let step = plan.looked((try? result.get()) ?? [], spread, &facts)
      follow(step, plan)
    }
  }

  /// Uses the only device, after naming it; the user chooses among several.
  mutating func pair(withOneOf found: [DeviceAddress]) {
    switch found.count {
    case 0: prepareFinish(.failure(.noneFound))
    case 1:
      act(.tell(.found(label: found[0].name ?? "", address: found[0].host)))
      probe(.found(0))
    default:
      phase = .choosing(found)
      act(.choose(found))
    }
  }

  mutating func chosen(_ result: Result<Int, Failure>) {
    guard case .choosing(let found) = phase else { return }
    switch result {
    case .success(let index) where found.indices.contains(index): probe(.found(index))
    case .success: prepareFinish(.failure(.noneFound))
    case .failure(let failure): prepareFinish(.failure(failure))
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
