import CWorld
import TestSupport

extension Course {
  /// What happens besides.
  enum Kind {
    /// Processes die, machines lose their power, connections are cut, disks fail, users do more at once.
    case mixed
    /// Other processes do what disturbs no transfer: no run may fail.
    case beside
    /// What is there gets other names; the import is killed meanwhile, and the transfer forgotten.
    case aside
    /// The new device's disk is nearly full and slow, and fails at a sync.
    case full
    /// A folder cannot be read in a later session.
    case shut
    /// The disk of the new device's records is full when the first items are in place: no run may fail.
    case unrecorded
    /// Connections are cut and stall, one at a time.
    case torn
    /// Users stop their commands, and one of them comes late.
    case stopped
    /// Files are changed and removed while they are sent.
    case edited
    /// Each root is a part of the plan; the disk has no room for one of them, for some time.
    case parts
    /// The receiver, or its machine, dies just after something was said.
    case struck
    /// The relay between the devices dies, is stopped, or gets no descriptors: once they have a transfer, no run
    /// may fail.
    case relayed
    /// A file of which only blocks change is sent again and again, and everything happens as in the first one.
    case blocks

    /// Any of them, as the seed decides: mostly the first one.
    static func drawn() -> Self {
      [.mixed, .mixed, .mixed, .mixed, .beside, .aside, .full, .shut, .unrecorded][Int(world_draw(9))]
    }

    /// One of the later ones, which leave the draws of the others as they are.
    static func besides(_ seed: UInt64) -> Self? {
      var generator = Generator(seed: seed ^ 0xB0D1E5)
      let kinds: [Self] = [.torn, .stopped, .edited, .parts, .struck, .relayed, .blocks]
      return kinds.dropFirst(Int(generator.next() % 16)).first
    }

    /// How often something happens; where that has its moment, how often this is looked for.
    var faults: Int {
      switch self {
      case .mixed, .blocks: Int(world_draw(6))
      case .beside: 1 + Int(world_draw(5))
      case .full: 0
      case .aside: 1000
      case .shut: 400
      case .unrecorded: 4000
      case .torn: 4 + Int(world_draw(8))
      case .stopped: 1 + Int(world_draw(3))
      case .struck: 2 + Int(world_draw(4))
      case .relayed: 2 + Int(world_draw(5))
      case .edited: 6 + Int(world_draw(14))
      case .parts: 2 + Int(world_draw(6))
      }
    }

    /// How often the users send again.
    var passes: Int {
      switch self {
      case .mixed, .beside: world_draw(3) > 0 ? 0 : 1 + Int(world_draw(3))
      case .unrecorded: 1
      case .relayed: Int(world_draw(2))
      case .blocks: 1 + Int(world_draw(3))
      case .aside, .full, .shut, .torn, .stopped, .edited, .parts, .struck: 0
      }
    }

    /// Whether a large file is sent too.
    var hasLarge: Bool { [.full, .shut, .torn, .parts, .edited, .relayed].contains(self) }

    /// Whether a file is sent of which blocks are kept.
    var hasImage: Bool { self == .blocks }

    /// Whether a relay is harmed too, where there is one.
    var harmsRelay: Bool { [.mixed, .blocks, .torn, .stopped, .edited, .parts, .struck].contains(self) }

    /// Whether a run may fail from the beginning on.
    var mayFail: Bool {
      switch self {
      case .mixed, .beside, .unrecorded, .relayed, .blocks: false
      case .aside, .full, .shut, .torn, .stopped, .edited, .parts, .struck: true
      }
    }
  }

  /// A machine, and its user with a command that is started again until it succeeds.
  struct User {
    let name: String
    let home: String
    var start: () throws -> Void = {}
    var disk: Disk
    /// The running process.
    var process: CInt?
    /// Other commands of this user.
    var others: [CInt: Other] = [:]
    /// All processes since the machine was switched on.
    var processes: Set<CInt> = []
    var startsAt: UInt64?
    var starts = 0
    var isDone = false
    /// How many items were removed, as the process that has succeeded told.
    var removed: UInt64 = 0
    /// Whether a process told that everything has arrived, and did not live to its own end.
    var wasTold = false
  }

  /// What a second process does.
  enum Other: UInt64, CaseIterable {
    /// The same command.
    case again
    case forget, purge
    /// Forgets what another home of this user has.
    case forgetElsewhere
  }
}
