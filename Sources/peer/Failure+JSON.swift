import MigrationWire

extension Failure {
  /// The name of the cause, for a program that has its own words for it; nil if the other device has told
  /// one that this program does not know.
  var cause: String? {
    guard case .told(let told) = code else { return "\(code)" }
    return closeCause.flatMap { Self.causes[$0] } ?? Self.codes[told]
  }

  /// The codes of the other device, by the names of this device's own where they mean the same.
  private static let codes: [Close.Code: String] = [
    .interrupted: "interrupted", .violation: "violation", .version: "version", .refused: "declined", .exists: "exists",
    .noSpace: "noSpace", .unfit: "unfit", .storage: "storage", .importFailed: "importFailed",
    .exportFailed: "exportFailed", .unknownTransfer: "unknownTransfer", .superseded: "superseded",
    .announcement: "announcement", .otherApp: "otherApp", .silent: "connection", .unknownKind: "unknownKind",
    .notInstalled: "notInstalled", .appInUse: "appInUse", .takenAlready: "takenAlready", .notAllowed: "notAllowed",
    .nothingNewer: "nothingNewer",
  ]
  private static let causes: [Close.Cause: String] = [
    .otherKey: "pairing", .tooManyTransfers: "tooManyTransfers", .leftOut: "declined", .secret: "notAllowed",
    .mayRun: "notAllowed", .recordsFull: "recordsFull", .inUse: "inUse", .collision: "collision",
    .descriptors: "descriptors", .cancelled: "importCancelled", .unreadable: "source", .forgotten: "forgotten",
    .idle: "idle", .reserved: "reserved", .elsewhere: "elsewhere", .ending: "ending", .appHasData: "appHasData",
    .tooMuch: "tooMuch",
  ]
}
