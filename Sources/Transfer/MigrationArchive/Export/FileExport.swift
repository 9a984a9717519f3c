import MigrationSystem
import MigrationWire

/// The result of trying to send a file.
enum FileOutcome<File: SourceFile> {
  /// The file is in the archive in this generation.
  case sent(Generation)
  /// The file changed while it was read.
  case changed
  /// For this many seconds, a further change could still get the stamp of the last change.
  case unsettled(Double, Timestamp)
  /// The file is sent in parts.
  case large(OpenedFile<File>)
}

/// A large file in the state in which it was opened.
struct OpenedFile<File: SourceFile> {
  let file: File
  let record: ItemRecord
  let before: FileStatus
  /// The attributes that are never carried.
  let lostAttributes: [[UInt8]]
  /// The ranges that the receiver has.
  let held: ByteRanges
  /// The frame that the receiver must have written before the first part may follow.
  var mayFollow: UInt64?
  /// The blocks of the version that lies at the receiver.
  var base: BlockSums?
}

/// Sends a file in one consistent state, or finds that it changes meanwhile (Protocol §8.3).
struct FileExport<Source: SourceDirectory> {
  let packer: FramePacker
  let directory: Source
  let path: ArchivePath
  let name: ArraySlice<UInt8>
  /// The size that the file had when it was listed.
  var listedSize: UInt64 = 0
  /// The names of owners and groups; nil where they are not sent.
  var owners: OwnerNames?
  /// Whether a large file is tried again later, in a frame that has a number.
  var isSmallExpected = false
  /// A stamp that no further change can have: the sender has waited for it, even if the clock that
  /// made it is unknown.
  var awaited: Timestamp?
  /// The time for reading a file that is sent in one piece; nil for other files.
  private(set) var readSeconds: Double?

  /// Reads the file and adds it, unless the receiver holds it. A failure to open or read it throws
  /// the kernel's error.
  mutating func run() throws(Failure) -> FileOutcome<Source.File> {
    if packer.isResuming, let held = try heldGeneration() { return .sent(held) }
    let file = try reading { () throws(SystemError) in try directory.open(name) }
    if let generation = addOldFile(file) { return .sent(generation) }
    let look = try reading { () throws(SystemError) in
      try directory.look { () throws(SystemError) in try file.status() }
    }
    let before = look.status
    guard look.unsettledSeconds <= 0 || before.changed == awaited else {
      return .unsettled(look.unsettledSeconds, before.changed)
    }
    guard before.kind == .regular else {
      throw Failure("reading", path, SystemError(reason: "it is no longer a regular file", operation: "read"))
    }
    let generation = packer.keys.generation(of: before.fingerprint(on: directory.fileSystem(of: before)))
    guard var record = ItemRecord(before, path: path, generation: generation, withOwner: owners != nil) else {
      return .changed
    }
    let extended = try reading { () throws(SystemError) in try file.extendedMetadata() }
    if packer.skipHeld(record) {
      packer.leaveBehind(extended.lostAttributes)
      return .sent(generation)
    }
    record.add(extended, naming: owners)
    if before.size > packer.sizes.smallFile {
      return isSmallExpected ? .changed : .large(open(file, record, look, extended.lostAttributes))
    }
    guard try before.size == 0 ? addEmpty(file, record, before) : addWhole(file, record, before) else {
      return .changed
    }
    packer.leaveBehind(extended.lostAttributes)
    return .sent(generation)
  }

  private func addEmpty(_ file: Source.File, _ record: ItemRecord, _ before: FileStatus) throws(Failure) -> Bool {
    let after = try reading { () throws(SystemError) in try file.status() }
    guard after.isSameState(as: before) else { return false }
    packer.add(record)
    return true
  }

  /// The file's generation, if the receiver has the file in its current state; this check opens no
  /// file.
  private func heldGeneration() throws(Failure) -> Generation? {
    let status = try reading { () throws(SystemError) in try directory.status(name) }
    let generation = packer.keys.generation(of: status.fingerprint(on: directory.fileSystem(of: status)))
    guard status.kind == .regular, let record = ItemRecord(status, path: path, generation: generation) else {
      return nil
    }
    guard packer.skipHeld(record) else { return nil }
    // The file is in the archive already, regardless of later changes.
    packer.leaveBehind((try? directory.lostAttributes(of: name)) ?? [])
    return generation
  }

  private mutating func addWhole(
    _ file: Source.File, _ record: ItemRecord, _ before: FileStatus
  ) throws(Failure) -> Bool {
    readSeconds = try reading { () throws(SystemError) in try read(file, as: record) }
    guard readSeconds != nil else { return false }
    let after = try reading { () throws(SystemError) in try file.status() }
    guard after.isSameState(as: before) else { return false }
    packer.addSmallFile(record)
    return true
  }

  /// Adds a small file after one look behind the reading, if its last change is older than the
  /// reading. Returns nil for any other file, and for a file whose owner has a name: the frame must
  /// reserve the exact room for the record.
  private mutating func addOldFile(_ file: Source.File) -> Generation? {
    guard owners == nil, directory.datesChanges, !packer.isResuming,
      (1...UInt64(packer.sizes.smallFile)).contains(listedSize)
    else { return nil }
    var extended = ExtendedMetadata()
    var seconds: Double?
    var length = 0
    // A file that cannot be read fails again behind this, with the reason.
    let look = try? directory.look { () throws(SystemError) in
      extended = try file.extendedMetadata()
      var record = ItemRecord(
        path: path, generation: 0, body: .file(size: listedSize), mode: 0,
        modified: ItemTime(seconds: 0, nanoseconds: 0))
      record.changed = record.modified
      record.add(extended)
      length = record.length
      seconds = try read(file, as: record)
      return try file.status()
    }
    // A clock that was set back meanwhile may have made any stamp.
    guard let look, seconds != nil, look.isOld, Timestamp.coarseNow() >= look.now, look.status.kind == .regular,
      look.status.size == Int64(listedSize)
    else { return nil }
    let generation = packer.keys.generation(of: look.status.fingerprint(on: directory.fileSystem(of: look.status)))
    guard var record = ItemRecord(look.status, path: path, generation: generation) else { return nil }
    record.add(extended)
    // The content lies behind a record of this length.
    guard record.length == length else { return nil }
    packer.addSmallFile(record)
    packer.leaveBehind(extended.lostAttributes)
    readSeconds = seconds
    return generation
  }

  /// Reads the content of a small file into the place where it lies behind this record. Returns the
  /// seconds that this took; nil if the file is shorter.
  private func read(_ file: Source.File, as record: ItemRecord) throws(SystemError) -> Double? {
    let begun = BootInstant.now()
    let isWhole = try packer.readSmallFile(record) { memory throws(SystemError) in
      try file.readFully(at: 0, into: &memory) == memory.count
    }
    return isWhole ? BootInstant.now().seconds(since: begun) : nil
  }

  /// The data needed to send the file in parts.
  private func open(
    _ file: Source.File, _ record: ItemRecord, _ look: SourceStatus, _ lostAttributes: [[UInt8]]
  ) -> OpenedFile<Source.File> {
    file.adviseSequential()
    let frame = dropDoubtfulPart(of: record, look)
    return OpenedFile(
      file: file, record: record, before: look.status, lostAttributes: lostAttributes, held: packer.heldRanges(record),
      mayFollow: frame, base: packer.base(of: record, file))
  }

  /// Makes the receiver discard the part that it holds, if this state of the file cannot be
  /// distinguished from the state of that part. A generation that no other session has comes first,
  /// and the whole file is sent again behind the frame with that generation.
  private func dropDoubtfulPart(of record: ItemRecord, _ look: SourceStatus) -> UInt64? {
    guard packer.holdsPart(of: record), !directory.showsEveryChange(look.status) else { return nil }
    let momentary = packer.keys.generation(of: look.momentaryFingerprint(on: directory.fileSystem(of: look.status)))
    packer.dropPart(FilePiece(path: path, generation: momentary, range: 0..<1, isHole: true))
    return packer.frameNumber
  }

  /// Adds the file's path to a failure.
  @inline(__always)
  private func reading<Result: ~Copyable>(_ body: () throws(SystemError) -> Result) throws(Failure) -> Result {
    do {
      return try body()
    } catch {
      throw Failure("reading", path, error)
    }
  }
}
