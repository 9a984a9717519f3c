import FoundationEssentials
import MigrationArchive
package import MigrationSystem
package import MigrationWire

/// An import into the app's container. At any time the container has all of the old data or all of
/// the new:
///
/// 1. `setRoomAside`, for the records and directories that follow an import which fills the disk.
/// 2. `setContainerAside`, if there is old data to be replaced.
/// 3. `beginImport` leaves a mark. From here on only the importer may use the container.
/// 4. `endImport` removes a container that failed, before anything is written, and records the
///    result. After a failure the container is made anew, or the old one moved back; after a success
///    the old one gets a name of its own. Then the mark is removed.
///
/// If the process dies at any point, `settle` completes the import.
extension InstalledApp {
  /// The transfer of an unfinished import; nil if there is none.
  package var unfinishedImport: String? {
    get throws(Failure) { try importMark?.transfer }
  }

  /// Whether `settle` has something to do.
  package var isUnsettled: Bool {
    get throws(Failure) {
      for place in [mark, replaced, room] where try files.kind(of: place) != nil { return true }
      return false
    }
  }

  /// Sets room aside for everything that is written after an import.
  package func setRoomAside() throws(Failure) {
    // Random bytes take their room on a disk that compresses, too.
    let bytes = try Failure.wrapping(SystemRandom.bytes(Self.roomAside))
    do {
      try files.write(room, bytes)
    } catch {
      try? files.remove("\(room).new")
      throw error
    }
  }

  /// More than a record with an error of any length, and the directories of a container.
  private static let roomAside = 1 << 20

  /// Whether the disk has less room than was set aside.
  package var isDiskFull: Bool {
    let space = try? FileSystemSpace.of(files.root.directory.descriptor)
    return space.map { $0.availableBytes < Self.roomAside || $0.availableItems == 0 } ?? false
  }

  /// Frees the room that was set aside. After a failed import it also removes the container, which is
  /// still the import's: until the result is decided, the next process would do the same.
  private func makeRoom(after mark: ImportMark, isFailed: Bool) throws(Failure) {
    try files.remove(room)
    // The rest of a container that resists is moved away later.
    if isFailed, !mark.isRestoring { try? files.removeTree(container) }
  }

  /// Records that an import of a transfer (32 hexadecimal digits) is in progress; durable when it
  /// returns.
  package func beginImport(transfer: String) throws(Failure) {
    let former = try importMark
    precondition(former == nil, "an interrupted import is settled first")
    // The result of an earlier attempt at the same transfer must not be taken for the result of
    // this one.
    if try decidedImport?.transfer == transfer { try files.remove(status) }
    try write(ImportMark(transfer: transfer))
  }

  /// Ends the import, and keeps the result for the app. The transfer in the record is ignored.
  package func endImport(_ record: ImportRecord) throws(Failure) {
    guard let mark = try importMark else { preconditionFailure("an import has begun") }
    try makeRoom(after: mark, isFailed: record.failure != nil)
    try write(record, mark)
    try finish(mark, record)
  }

  /// Ends an import whose importer never began: no result is recorded, and the container has its
  /// previous data.
  package func abandonImport() throws(Failure) {
    try files.remove(room)
    if try files.kind(of: replaced) != nil {
      try putContainerBack()
    } else {
      try clearContainer()
    }
    try files.remove(mark)
    try sweepTrash()
  }

  /// Returns when the app's data, and that of its groups, is on the disk.
  package func synchronizeData() throws(Failure) {
    for place in [container] + bundle.allGroups.map({ "groups/\($0)" }) {
      guard let directory = try files.open(place) else { continue }
      try Failure.wrapping(
        .failed, "the data of \(identifier) cannot be made durable",
        directory.directory.descriptor.synchronizeFileSystem())
    }
  }

  /// Settles an interrupted import: if it had not succeeded, it is undone, and the interruption is
  /// recorded for the app.
  ///
  /// - Returns: whether an import was undone.
  @discardableResult
  package func settle() throws(Failure) -> Bool {
    guard let mark = try importMark else {
      // No import had begun.
      try files.remove(room)
      try putContainerBack()
      try sweepTrash()
      return false
    }
    if let record = try decidedImport, record.transfer == mark.transfer {
      try finish(mark, record)
      return record.failure != nil
    }
    let record = ImportRecord(
      failure: .interruptedImport, transfer: mark.transfer, date: Timestamp.coarseNow().seconds)
    try makeRoom(after: mark, isFailed: true)
    try write(record, mark)
    try finish(mark, record)
    return true
  }

  var importMark: ImportMark? {
    get throws(Failure) { try files.read(mark, limit: 1 << 10).map { ImportMark($0) } }
  }

  func write(_ mark: ImportMark) throws(Failure) {
    try files.write(self.mark, mark.encoded)
  }

  /// Decides the result of the import. Later processes read it here.
  private func write(_ record: ImportRecord, _ mark: ImportMark) throws(Failure) {
    var record = record
    record.transfer = mark.transfer
    try files.makeDirectory("statuses")
    try files.change("write", status) { () throws(SystemError) in try record.write(to: statusPath) }
  }

  /// Gives the data that an import has replaced a name that says when: its user may still need it.
  private func keepReplaced(on date: Int64) throws(Failure) {
    guard try files.kind(of: replaced) != nil else { return }
    let day = CivilDate.text(Timestamp(seconds: date))
    var (name, number) = ("\(identifier)\(Self.before)\(day)", 1)
    while try files.kind(of: AppHome.Folder.earlier.place(name)) != nil {
      number += 1
      name = "\(identifier)\(Self.before)\(day)-\(number)"
    }
    try files.move(replaced, to: AppHome.Folder.earlier.place(name))
  }

  private static let before = ".before-"

  /// The paths of data that imports have replaced, the newest last.
  package var earlierData: [String] { Self.earlierData(of: identifier, in: files).map { files.path($0) } }

  /// The places of data of an app that imports have replaced, the newest last.
  static func earlierData(of identifier: String, in files: HomeFiles) -> [String] {
    let names = ((try? files.open(AppHome.Folder.earlier.rawValue)?.directory.names()) ?? nil) ?? []
    return names.map { String(decoding: $0, as: UTF8.self) }.filter { $0.hasPrefix(identifier + before) }
      .sorted { ($0.count, $0) < ($1.count, $1) }.map { AppHome.Folder.earlier.place($0) }
  }

  /// Performs the steps that follow from the decision.
  private func finish(_ mark: ImportMark, _ record: ImportRecord) throws(Failure) {
    try files.remove(room)
    if record.failure == nil {
      try keepReplaced(on: record.date)
    } else if try files.kind(of: replaced) != nil {
      try restore()
    } else if !mark.isRestoring {
      try empty()
    }
    try files.remove(self.mark)
    // Last: a failed removal does not prevent settling.
    try sweepTrash()
  }

  /// The record that an import into an app's container is in progress, or was when it was
  /// interrupted.
  struct ImportMark: Equatable {
    /// The transfer, 32 hexadecimal digits.
    var transfer: String
    /// Whether the imported data has been removed already, so that the container has its previous
    /// data.
    var isRestoring = false

    private static let restoring = "restoring"

    init(transfer: String) { self.transfer = transfer }

    /// Parses a mark. Regardless of its contents, its existence means that an import was begun.
    init(_ bytes: [UInt8]) {
      let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
      transfer = words.first ?? ""
      isRestoring = words.dropFirst().first == Self.restoring
    }

    var encoded: [UInt8] { Array("\(transfer)\(isRestoring ? " \(Self.restoring)" : "")\n".utf8) }
  }
}

extension ReportedError {
  /// The domain of errors that the system reports to an app.
  package static let systemDomain = "PeerMigrationErrorDomain"

  /// The app's error if its importer did not complete by itself.
  static func brokenImport(_ text: String) -> ReportedError {
    ReportedError(domain: systemDomain, code: 2, text: text)
  }

  /// The app's error if its import was interrupted by a crash, a kill or a power loss.
  package static let interruptedImport = ReportedError(
    domain: systemDomain, code: 1, text: "The import was interrupted.")
}

/// The result of an app's last import, kept until the app has read it: a JSON file outside the
/// container.
package struct ImportRecord: Codable, Equatable, Sendable {
  /// Nil for a success.
  package var failure: ReportedError?
  /// The transfer that brought the data, 32 hexadecimal digits; nil if there was none.
  package var transfer: String?
  /// In seconds since 1970.
  package var date: Int64

  package init(failure: ReportedError?, transfer: String?, date: Int64) {
    self.failure = failure
    self.transfer = transfer
    self.date = date
  }

  /// Reads a record; nil if there is none, or none that can be parsed.
  package static func read(from path: String) -> ImportRecord? {
    guard let bytes = try? FileContent.read(Array(path.utf8), limit: 1 << 20) else { return nil }
    return try? JSONDecoder().decode(ImportRecord.self, from: Data(bytes))
  }

  /// Replaces an older record; durable when it returns.
  package func write(to path: String) throws(SystemError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    guard let data = try? encoder.encode(self) else { preconditionFailure("a record can be written as JSON") }
    let (directory, name) = FileContent.split(Array(path.utf8))
    try Directory.open(directory).replaceFile(name, with: Array(data))
  }

  /// Removes the record, if there is one.
  package static func clear(_ path: String) throws(SystemError) {
    let (directory, name) = FileContent.split(Array(path.utf8))
    do {
      let directory = try Directory.open(directory)
      try directory.remove(name)
      try directory.synchronize()
    } catch  where error.isNotFound {
      // There is no record.
    }
  }
}
