import MigrationWire

/// The faults of a simulation and their times. After a while there are no more faults.
struct FaultPlan {
  private let scene: Scene
  private let span: Int
  private var world: World { scene.world }
  private var dice: Dice { scene.world.dice }

  init(_ scene: Scene) {
    self.scene = scene
    let dice = scene.world.dice
    // Mostly while data flows; now and then over minutes.
    span = dice.one(in: 4) ? dice.roll(1_000_000...120_000_000) : dice.roll(5_000...600_000)
  }

  func begin() {
    scene.calm = span + 1
    network()
    processes()
    disks()
    users()
    if dice.one(in: 3) { scene.importRisks = dice.roll(1...3) }
    rarely(2) { scene.partFaults += [dice.pick(PartFault.allCases) ?? .room] }
    world.after(span + 1) { scene.partFaults = [] }
    if dice.one(in: 8) {
      scene.lacksThreads = true
      world.after(span + 1) { scene.lacksThreads = false }
    }
    if dice.one(in: 2) {
      scene.source.changesLeft = dice.roll(1...14)
      for _ in 0..<dice.roll(1...10) { sometime { scene.source.change() } }
      world.after(max(span, 3_000_000)) { scene.source.changesLeft = 0 }
    }
  }

  private func someTime() -> Int { dice.roll(1_000...span) }

  /// Does something at a random time, or at a random step of the engines.
  private func sometime(_ body: @escaping () -> Void) {
    switch dice.roll(0...7) {
    case 0, 1: world.after(someTime(), body)
    case 2, 3, 4: scene.ambush(at: dice.one(in: 3) ? dice.roll(1...60) : dice.roll(30...250), body)
    default: scene.ambush(at: dice.pick(Moment.allCases) ?? .dial, dice.one(in: 2) ? 1 : dice.roll(1...4), body)
    }
  }

  private func often(_ most: Int, _ body: @escaping () -> Void) {
    for _ in 0..<dice.roll(0...most) { sometime(body) }
  }

  private func rarely(_ rarity: Int, _ body: @escaping () -> Void) {
    if dice.one(in: rarity) { for _ in 0..<dice.roll(1...2) { sometime(body) } }
  }

  private func network() {
    often(4) {
      scene.tally.cuts += 1
      scene.network.cut(all: true)
    }
    often(6) {
      scene.tally.streamCuts += 1
      scene.network.cut(all: false)
    }
    if dice.one(in: 6) {
      // The last message of a session arrives when there is another session.
      scene.ambush(at: .finish, 1) {
        scene.tally.cuts += 1
        world.after(dice.roll(1...100)) { scene.network.cut(all: true, isLate: true) }
      }
    }
    rarely(4) {
      scene.tally.outages += 1
      scene.outage = world.now + (dice.one(in: 3) ? dice.roll(1_000...90_000_000) : dice.roll(1_000...2_000_000))
      scene.network.cut(all: true)
    }
    if dice.one(in: 3) {
      often(6) {
        scene.tally.strangers += 1
        Stranger.come(to: scene)
      }
    }
  }

  private func processes() {
    often(3) {
      scene.tally.senderKills += 1
      dice.pick(scene.senders)?.die("by a kill")
    }
    rarely(6) { scene.startTwin() }
    rarely(8) {
      scene.imposture = world.now + dice.roll(1_000...10_000_000)
    }
    often(3) {
      scene.tally.receiverKills += 1
      // In the middle of its next operations.
      if dice.one(in: 2) {
        scene.disk.operationsToLive = dice.roll(0...60)
      } else {
        scene.receiver?.die("by a kill")
      }
    }
    if dice.one(in: 2) { for _ in 0..<dice.roll(1...3) { sometime { scene.losePower() } } }
    rarely(5) {
      scene.tally.sleeps += 1
      let device = dice.roll(0...1)
      let length = dice.one(in: 2) ? dice.roll(1_000...60_000_000) : dice.roll(1_000...500_000)
      scene.asleep[device] = max(scene.asleep[device], world.now + length)
    }
  }

  private func disks() {
    if dice.one(in: 5) {
      sometime {
        scene.tally.diskErrors += 1
        scene.disk.isFailing = true
        world.after(dice.roll(1_000...50_000)) { scene.disk.isFailing = false }
      }
    }
    rarely(4) {
      scene.tally.stalls += 1
      let (device, length) = (dice.roll(0...1), stallLength())
      scene.stall(device, for: length)
      // Others ask meanwhile.
      if length > 120_000_000 { world.after(length - dice.roll(0...2_000_000)) { Stranger.come(to: scene) } }
    }
    if dice.one(in: 5) {
      sometime { scene.lurkingStalls.append(stallLength()) }
    }
  }

  private func stallLength() -> Int {
    dice.one(in: 2) ? dice.roll(1_000...(scene.keeps ? 180_000_000 : 90_000_000)) : dice.roll(1_000...1_000_000)
  }

  private func users() {
    if dice.one(in: 4) { scene.forbiddenHosts = ["192.0.2.3", "10.0.0.\(dice.roll(2...4))"] }
    scene.canUndoImports = dice.one(in: 4)
    rarely(3) {
      scene.tally.stops += 1
      if dice.one(in: 2) { dice.pick(scene.senders)?.stop() } else { scene.receiver?.stop() }
    }
  }
}
