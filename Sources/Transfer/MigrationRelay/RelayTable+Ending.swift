import MigrationWire

/// The ends: of what has taken too long, of what makes room, of all when the relay is stopped, and what a
/// connection leaves behind.
extension RelayTable {
  /// Ends what has taken too long. Called about once a second.
  package mutating func expire(now: Double) -> [Action] {
    perform { table in
      for (id, visitor) in table.visitors {
        switch visitor.stage {
        case .new where now - visitor.heard >= RelayLimits.request,
          .registered where now - visitor.heard >= RelayLimits.silence,
          .joined where now - visitor.heard >= RelayLimits.idle:
          table.counted.dropped += 1
          table.end(id, .idle)
        case .calling where now - visitor.heard >= RelayLimits.answer: table.refuse(id, .absent)
        case .new, .registered, .calling, .joined: break
        }
      }
      table.looks.forgetOld(now: now)
      if table.isEnding { table.letGo(now) }
    }
  }

  /// The relay is being stopped: only the devices whose calls carry data are served.
  package mutating func stop(now: Double) -> [Action] {
    perform { table in
      table.isEnding = true
      table.letGo(now)
    }
  }

  /// Ends everything but the registrations whose calls carry data, and these calls. What is ended goes on at
  /// another relay, or when this one is back.
  private mutating func letGo(_ now: Double) {
    let busy = Set(visitors.values.compactMap { $0.load.isData(now: now) ? $0.registration : nil })
    for (id, visitor) in visitors {
      switch visitor.stage {
      case .registered where !busy.contains(id): refuse(id, .ending)
      case .joined where !busy.contains(visitor.registration ?? id): end(id, .ending)
      case .new, .registered, .calling, .joined: break
      }
    }
  }

  /// The relay ends now: joined calls end too.
  package mutating func stopNow() -> [Action] {
    perform { table in for id in table.visitors.keys { table.end(id, .ending) } }
  }

  mutating func makeRoom(forNewcomerOf network: String) {
    let ofNetwork = newcomers[network, default: []]
    let crowd =
      if ofNetwork.count >= RelayLimits.unproved.ofNetwork {
        ofNetwork
      } else {
        newcomerCount >= RelayLimits.unproved.all ? newcomers.values.max { $0.count < $1.count } : nil
      }
    guard let oldest = crowd?.first else { return }
    counted.dropped += 1
    end(oldest, .busy, wait: RelayLimits.missPause)
  }

  mutating func refuse(_ id: ID, _ reason: RelayRefusal, wait: Double = 0) {
    guard visitors[id] != nil else { return }
    counted.refused[reason, default: 0] += 1
    end(id, reason, wait: wait)
  }

  /// Says why, and closes; of a joined call both ends.
  mutating func end(_ id: ID, _ reason: RelayRefusal, wait: Double = 0) {
    guard let visitor = visitors[id] else { return }
    let wait = UInt16(min(wait, 65_535))
    if case .joined(let other) = visitor.stage {
      for end in [id, other] { actions.append(.say(end, .cut(reason, wait: wait))) }
    } else {
      actions.append(.say(id, .refused(reason, wait: wait)))
    }
    drop(id)
  }

  private mutating func drop(_ id: ID) {
    guard visitors[id] != nil else { return }
    actions.append(.close(id))
    leave(id)
  }

  mutating func leave(_ id: ID) {
    guard let visitor = visitors.removeValue(forKey: id) else { return }
    switch visitor.stage {
    case .new: forgetNewcomer(id, visitor.network)
    case .registered:
      registered.change(visitor.share, by: -1)
      guard let registration = registrations.removeValue(forKey: id) else { return }
      places[registration.place] = nil
      takenOfLength[String(registration.place.number).utf8.count, default: 0] -= 1
      for meeting in registration.meetings where meetings[meeting] == id { meetings[meeting] = nil }
      for (_, call) in waiting where call.receiver == id { refuse(call.caller, isEnding ? .ending : .absent) }
    case .calling(let call):
      calls.change(visitor.share, by: -2)
      forget(call)
    case .joined(let other):
      calls.change(visitor.share, by: -1)
      drop(other)
    }
  }

  mutating func forget(_ call: RelayCall) {
    guard let (_, receiver) = waiting.removeValue(forKey: call) else { return }
    registrations[receiver]?.waiting -= 1
  }

  mutating func forgetNewcomer(_ id: ID, _ network: String) {
    newcomerCount -= 1
    newcomers[network]?.removeAll { $0 == id }
    if newcomers[network]?.isEmpty == true { newcomers[network] = nil }
  }
}
