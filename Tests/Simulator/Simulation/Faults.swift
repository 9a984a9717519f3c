/// How often each fault occurred.
public struct Faults: Sendable {
  public var cuts = 0
  public var streamCuts = 0
  public var senderKills = 0
  public var receiverKills = 0
  public var powerLosses = 0
  public var changes = 0
  public var diskErrors = 0
  /// Items that the disk could not hold.
  public var refusals = 0
  /// How many of the receiver's kills came between the complete archive and its answer.
  public var importKills = 0
  public var outages = 0
  public var sleeps = 0
  public var stalls = 0
  /// How often a user stopped a process.
  public var stops = 0
  public var strangers = 0
  /// How often a session that brought nothing gave way to another sender.
  public var turns = 0
  /// How often two processes continued one transfer.
  public var twins = 0
  public var impostors = 0
  /// How many runs of either side there were.
  public var runs = 0

  /// How often a part failed at one end.
  public var partFaults = 0
  /// How many transfers followed the first.
  public var rounds = 0

  public init() {}

  public mutating func add(_ other: Faults) {
    cuts += other.cuts
    streamCuts += other.streamCuts
    senderKills += other.senderKills
    receiverKills += other.receiverKills
    powerLosses += other.powerLosses
    changes += other.changes
    diskErrors += other.diskErrors
    refusals += other.refusals
    importKills += other.importKills
    outages += other.outages
    sleeps += other.sleeps
    stalls += other.stalls
    stops += other.stops
    strangers += other.strangers
    turns += other.turns
    twins += other.twins
    impostors += other.impostors
    runs += other.runs
    rounds += other.rounds
    partFaults += other.partFaults
  }
}
