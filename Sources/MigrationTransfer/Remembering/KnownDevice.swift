package import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
package import MigrationWire

/// This device's record of a known device (Protocol §4.6). The known device's key serves as a code
/// that never expires.
package struct KnownDevice: Equatable, Sendable {
  /// Whether this device sends to the other one, or receives from it.
  package let role: Role
  /// This device's key, as `Identity` encodes it.
  package let identity: [UInt8]
  /// The other device's key: the pin.
  package let peer: KeyFingerprint
  /// The other device's own label, the newest one.
  package var label: String
  /// The user's name for it; empty where there is none.
  package var name = ""
  /// Its newest address, with the port at a sender.
  package var address: String
  /// In seconds since 1970.
  package var since: Int64
  package var lastUsed: Int64
  /// When this device forgets it, in seconds since 1970; nil for a pairing that the user keeps.
  package var until: Int64?
  /// How many transfers have begun with it.
  package var transfers: UInt64 = 0
  /// The secret by which both devices meet at relays; nil in a record of an older program.
  package var meeting: [UInt8]?

  /// The name to show, unescaped.
  package var shownName: String { name.isEmpty ? label : name }
  /// The digits by which a user may name it.
  package var identifier: String { peer.description }
}

extension KnownDevice {
  private static let magic = Array("peer device 1\n".utf8)
  private static let subject = "a known device"

  /// The whole file.
  var encoded: [UInt8] {
    var fields = Fields()
    fields.append(1, [role.rawValue])
    fields.append(2, identity)
    fields.append(3, peer.bytes)
    fields.append(4, Array(label.utf8))
    fields.append(5, Array(name.utf8))
    fields.append(6, Array(address.utf8))
    fields.append(7) { writer in
      for number in [UInt64(bitPattern: since), UInt64(bitPattern: lastUsed), transfers] { writer.u64(number) }
    }
    if let until { fields.append(8) { $0.u64(UInt64(bitPattern: until)) } }
    if let meeting { fields.append(9, meeting) }
    return RecordFile.encode(fields, magic: Self.magic)
  }

  /// Reads a whole file. A damaged or foreign file is a violation.
  init(encoded bytes: [UInt8]) throws(Violation) {
    let subject = Self.subject
    let fields = try RecordFile.decode(bytes, magics: [Self.magic], of: subject).fields
    let role = try fields.readRequired(1, subject) { reader, bytes throws(Violation) in try reader.u8(bytes) }
    guard let role = Role(rawValue: role), let peer = KeyFingerprint(bytes: try fields.required(3, subject)) else {
      throw Violation(.value, subject)
    }
    (self.role, self.peer) = (role, peer)
    identity = try fields.required(2, subject)
    label = try fields.text(4, limit: Limits.label, subject)
    name = try fields.text(5, limit: Limits.label, subject)
    address = try fields.text(6, limit: Limits.message, subject)
    (since, lastUsed, transfers) = try fields.readRequired(7, subject) { reader, bytes throws(Violation) in
      (Int64(bitPattern: try reader.u64(bytes)), Int64(bitPattern: try reader.u64(bytes)), try reader.u64(bytes))
    }
    meeting = try fields.meetingSecret(9, subject)
    until = try fields.read(8, subject) { reader, bytes throws(Violation) in Int64(bitPattern: try reader.u64(bytes)) }
  }
}

/// Which known devices need no code, and how long a new pairing is kept.
package enum KnownDevices: Equatable, Sendable {
  /// The devices whose pairings the user keeps.
  case kept
  /// Also the devices of a migration, for its last pass. The user may keep the pairing longer.
  case migrating(isKept: Bool)

  /// How long the pairing of a migration is kept, in seconds.
  private static let migrationLife: Int64 = 30 * 24 * 3600

  /// Whether a device is known from its pairing on, before its plan is.
  var areExpected: Bool { self != .kept }

  func has(_ device: KnownDevice) -> Bool { self != .kept || device.until == nil }

  /// When a pairing that is kept now ends; nil if it does not.
  func end(now: Int64) -> Int64? { self == .migrating(isKept: false) ? now + Self.migrationLife : nil }
}

/// The file of a record: a line that names the format, fields as in Protocol §5, and a checksum.
///
/// The checksum finds damage, not forgery: a program that can write the file can read the keys in
/// it.
enum RecordFile {
  private static let checksum = 16

  static func encode(_ fields: Fields, magic: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.array(magic)
    fields.write(to: &writer)
    writer.u128(code(writer.bytes))
    return writer.bytes
  }

  /// The fields of a whole file, and the index of its format.
  static func decode(
    _ bytes: [UInt8], magics: [[UInt8]], of subject: String
  ) throws(Violation) -> (fields: Fields, format: Int) {
    guard let format = magics.firstIndex(where: { bytes.starts(with: $0) }),
      bytes.count >= magics[format].count + checksum
    else { throw Violation(.unknown, subject) }
    let body = magics[format].count..<bytes.count - checksum
    var reader = ByteReader(body.upperBound..<bytes.count, of: subject)
    guard try reader.u128(bytes.span) == code(Array(bytes[..<body.upperBound])) else {
      throw Violation(.check, subject)
    }
    return (try Fields(bytes.span, body, of: subject), format)
  }

  private static func code(_ bytes: [UInt8]) -> UInt128 {
    var hash = SipHash(key: 0)
    hash.combine(bytes)
    return hash.finish()
  }
}

extension TransferStore {
  /// How many known devices there may be.
  package static let mostDevices = 64
  static let devicesFolder = Array("devices".utf8)

  /// All known devices, those used last first. Damaged records are left out, and those whose time is
  /// over.
  package func devices(as role: Role? = nil, _ wanted: KnownDevices? = nil) throws(Failure) -> [KnownDevice] {
    guard let folder = try openFolder(Self.devicesFolder) else { return [] }
    return try names(folder).compactMap { Self.device($0, in: folder) }
      .filter { (role == nil || $0.role == role) && wanted?.has($0) ?? true }
      .sorted { ($0.lastUsed, $0.identifier) > ($1.lastUsed, $1.identifier) }
  }

  /// The known device with a key.
  package func device(_ peer: KeyFingerprint, as role: Role) -> KnownDevice? {
    guard let folder = try? openFolder(Self.devicesFolder) else { return nil }
    return Self.device(Array(peer.description.utf8), in: folder).flatMap { $0.role == role ? $0 : nil }
  }

  private static func device(_ name: [UInt8], in folder: SharedDirectory) -> KnownDevice? {
    guard let directory = try? folder.directory.openChildDirectory(name), let bytes = try? read(directory),
      let device = try? KnownDevice(encoded: bytes), Array(device.identifier.utf8) == name,
      device.until.map({ $0 > Timestamp.coarseNow().seconds }) ?? true
    else { return nil }
    return device
  }

  /// Keeps a pairing, durably, or notes the newest label and address of one that was kept. Returns
  /// false where there are too many. In `changingDevices`, as everything that writes such a record.
  func keep(_ device: KnownDevice) throws(Failure) -> Bool {
    let known = try devices()
    var device = device
    if let earlier = known.first(where: { $0.peer == device.peer }) {
      (device.name, device.since, device.transfers) = (earlier.name, earlier.since, earlier.transfers)
      if earlier.until == nil { device.until = nil }
    } else if known.count >= Self.mostDevices {
      return false
    }
    try write(device)
    return true
  }

  /// For how many seconds a device is expected.
  private static let expectation: Int64 = 24 * 3600

  /// Records a device durably at its pairing, until the plan tells whether the pairing is kept:
  /// after a kill of either end in between, the devices need no new code. The record of a known
  /// device stays as it is. Returns whether the device is known now.
  func expect(
    _ peer: KeyFingerprint, as role: Role, by identity: Identity, at address: String, meeting: [UInt8]?
  ) throws -> Bool {
    let now = Timestamp.coarseNow().seconds
    return try changingDevices {
      if device(peer, as: role) != nil { return true }
      return try keep(
        KnownDevice(
          role: role, identity: try identity.encoded(), peer: peer, label: address, address: address, since: now,
          lastUsed: now, until: now + Self.expectation, meeting: meeting))
    }
  }

  /// Forgets a device that was only expected: its pairing is not kept.
  func unexpect(_ peer: KeyFingerprint, as role: Role) throws(Failure) {
    guard let device = device(peer, as: role), device.until != nil, device.transfers == 0 else { return }
    try remove(device)
  }

  /// Notes that a transfer begins with a device, if that is a known one.
  func noteUse(of peer: KeyFingerprint, as role: Role, label: String, address: String, now: Int64) throws(Failure) {
    guard var device = device(peer, as: role) else { return }
    (device.label, device.address, device.lastUsed, device.transfers) = (label, address, now, device.transfers + 1)
    try write(device)
  }

  private func write(_ device: KnownDevice) throws(Failure) {
    try storing { () throws(SystemError) in
      let folder = try openOrMakeFolder(Self.devicesFolder)
      let name = Array(device.identifier.utf8)
      do throws(SystemError) {
        try folder.directory.makeDirectory(name, mode: 0o700)
      } catch  where error.isAlreadyExisting {
        // It is known already.
      }
      try folder.directory.openChildDirectory(name).replaceFile(LockedTransferRecord.file, with: device.encoded)
      try folder.directory.synchronize()
    }
  }

  /// Removes the known devices whose time is over, with what is recorded of them.
  func purgeDevices(at time: StoreTime) throws(Failure) {
    guard let folder = try openFolder(Self.devicesFolder) else { return }
    for name in try names(folder) {
      guard let directory = try? folder.directory.openChildDirectory(name), let bytes = try? Self.read(directory),
        let device = try? KnownDevice(encoded: bytes), let until = device.until, until <= time.now,
        time.isOver(max(0, until - device.lastUsed), since: device.lastUsed)
      else { continue }
      try? folder.directory.removeTree(name)
    }
  }

  /// The folder of a known device's records; nil if there is none.
  func deviceFolder(_ peer: KeyFingerprint) throws(Failure) -> SharedDirectory? {
    guard let folder = try openFolder(Self.devicesFolder),
      let directory = try? folder.directory.openChildDirectory(Array(peer.description.utf8))
    else { return nil }
    return SharedDirectory(directory)
  }

  /// The folder of the lists of blocks that were sent to a known device; nil for another device.
  func blockFolder(_ peer: KeyFingerprint) -> SharedDirectory? {
    guard device(peer, as: .sender) != nil, let folder = try? deviceFolder(peer) else { return nil }
    try? folder.directory.makeDirectory(BlockStore.folderName, mode: 0o700)
    return try? SharedDirectory(folder.directory.openChildDirectory(BlockStore.folderName))
  }

  // MARK: The arrived items of a device

  /// The record of the items that the sources of a part have brought to a place; nil if the device
  /// is not known, or if such parts have no record.
  package func arrivedItems(
    from peer: KeyFingerprint, _ part: Part, at place: [UInt8], removals: [[UInt8]: ArrivedItems.Removals] = [:]
  ) throws(Failure) -> ArrivedItems? {
    try arrivedItems(from: peer, part, at: place, removals) { (folder, name) throws(SystemError) in
      try folder.openOrCreateFile(name)
    }
  }

  private func arrivedItems(
    from peer: KeyFingerprint, _ part: Part, at place: [UInt8], _ removals: [[UInt8]: ArrivedItems.Removals] = [:],
    by open: (borrowing Directory, [UInt8]) throws(SystemError) -> Descriptor
  ) throws(Failure) -> ArrivedItems? {
    guard let name = part.nameOfArrivals, device(peer, as: .receiver) != nil,
      let folder = try openFolder(Self.devicesFolder)
    else { return nil }
    var hash = SipHash(key: 0)
    hash.combine(place + [0] + Array(name.utf8))
    let file = "brought-\(hash.finish().hexadecimal)"
    return try storing { () throws(SystemError) in
      let directory = try folder.directory.openChildDirectory(Array(peer.description.utf8))
      return try ArrivedItems(
        DiskFile(try open(directory, Array(file.utf8))), of: part.sourcesOfRoots, removals: removals)
    }
  }

  /// The records of what the sources of a part have brought to a place, for a look that writes nothing.
  package func arrivedItems(of part: Part, at place: [UInt8]) -> [ArrivedItems] {
    let devices = (try? devices(as: .receiver)) ?? []
    return devices.compactMap { device in
      let items = try? arrivedItems(from: device.peer, part, at: place) { (folder, name) throws(SystemError) in
        try folder.openChild(name)
      }
      return items ?? nil
    }
  }

  /// Gives the only device whose name, label or key begins so the user's name.
  package func name(_ typed: String, _ name: String) throws(Failure) -> KnownDevice {
    do {
      return try changingDevices {
        var device = try only(typed)
        device.name = name
        // A receiver may keep their data apart by these names.
        guard try devices().allSatisfy({ $0.peer == device.peer || $0.name != name }) else {
          throw Failure(
            .usage, "another known device is called \(VisibleText.quoted(Array(name.utf8)))",
            hint: "Write another name.")
        }
        try write(device)
        return device
      }
    } catch {
      throw Failure(error)
    }
  }

  func remove(_ device: KnownDevice) throws(Failure) {
    guard let folder = try openFolder(Self.devicesFolder) else { return }
    try storing { () throws(SystemError) in
      try folder.directory.removeTree(Array(device.identifier.utf8))
      try folder.directory.synchronize()
    }
  }

  /// The only device that the user can mean: by its whole name or label, or the first digits of its
  /// key.
  func only(_ typed: String) throws(Failure) -> KnownDevice {
    let known = try devices()
    var found = known.filter { $0.name == typed }
    if found.isEmpty { found = known.filter { $0.label == typed } }
    if found.isEmpty, typed.count >= Self.shortestPrefix { found = known.filter { $0.identifier.hasPrefix(typed) } }
    guard let device = found.first else {
      throw Failure(
        .usage, "no known device is called \(VisibleText.quoted(Array(typed.utf8)))",
        hint: "'peer device list' shows them all.")
    }
    guard found.count == 1 else {
      throw Failure(
        .usage, "\(found.count) known devices are called \(VisibleText.quoted(Array(typed.utf8)))",
        hint: "Write the first digits of the ID that 'peer device list' shows.")
    }
    return device
  }

  /// Keeps other senders of this store from using a pairing as long as the result lives; nil where
  /// the device is not known any more.
  func hold(_ peer: KeyFingerprint) throws(Failure) -> SharedDirectory? {
    guard let folder = try openFolder(Self.devicesFolder) else { return nil }
    let directory: SharedDirectory
    let isOurs: Bool
    do throws(SystemError) {
      directory = SharedDirectory(try folder.directory.openChildDirectory(Array(peer.description.utf8)))
      isOurs = try directory.directory.descriptor.lockOnceFree()
    } catch {
      if error.isNotFound { return nil }
      throw Failure(store: "the known device cannot be used", error)
    }
    guard isOurs else {
      let holder = directory.directory.descriptor.lockHolder().map { " (process \($0))" } ?? ""
      throw Failure(
        .inUse, "another 'peer send'\(holder) is sending to that device", hint: "Wait until it is done, and try again.")
    }
    return directory
  }
}

extension Part {
  /// The name of the record of what has arrived; nil for those whose importers know what they have.
  fileprivate var nameOfArrivals: String? {
    switch contents {
    case .role, .files, .folders: lastingName
    case .app, .unknown: nil
    }
  }
}
