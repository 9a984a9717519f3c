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
    /// What the process that has succeeded told.
    var told: UInt64 = 0
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
