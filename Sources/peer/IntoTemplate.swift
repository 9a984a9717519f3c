import MigrationArchive
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// `peer receive --into`: the folder of the destination for each device's data.
struct IntoTemplate: Equatable, Sendable {
  /// The words that are replaced.
  private static let (device, date) = ("{device}", "{date}")
  /// How many digits of its key name a device that has no name here.
  private static let digits = 12

  private let template: String

  /// Parses what the user has typed.
  init(_ typed: String) throws(Failure) {
    template = typed
    let sample = typed.replacing(Self.device, with: "d").replacing(Self.date, with: "d")
    guard sample != typed, !sample.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }),
      let path = try? ArchivePath(Array(sample.utf8)), !Staging.isName(Array(path.root))
    else {
      throw .usage(
        "--into: invalid value \(VisibleText.quoted(Array(typed.utf8)))",
        hint: "Write a path below the directory with {device} or {date} in it, as in --into '{device}/{date}'.")
    }
  }

  /// The folder for a device, by the name that this device's user has given it: never by its own
  /// claim. The day is that of UTC.
  func path(_ key: KeyFingerprint, named name: String?, now: Int64) throws(Failure) -> ArchivePath {
    let day = String(CalendarTime.text(now).prefix(10))
    for name in [name.map(Self.component), String(key.description.prefix(Self.digits))] {
      guard let name else { continue }
      let filled = template.replacing(Self.device, with: name).replacing(Self.date, with: day)
      if let path = try? ArchivePath(Array(filled.utf8)), !Staging.isName(Array(path.root)) { return path }
    }
    throw Failure(.unfit, "--into gives no folder for this device")
  }

  private static func component(_ name: String) -> String { name.replacing("/", with: "_") }

  /// The folders, by the names in a store.
  func folders(by store: TransferStore) -> @Sendable (KeyFingerprint) throws(Failure) -> ArchivePath {
    { (key) throws(Failure) in
      let name = store.device(key, as: .receiver)?.name
      return try path(key, named: name?.isEmpty == false ? name : nil, now: Timestamp.coarseNow().seconds)
    }
  }
}
