import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
package import MigrationWire

/// The records of known devices, and the lock under which they change.
extension TransferStore {
  /// How many known devices there may be.
  package static let mostDevices = 64
  static let devicesFolder = Array("devices".utf8)

  /// Runs `body` while no other thread or process changes the records of devices, or records a plan
  /// of a known device: so no process writes a forgotten record again. Without any known device, it
  /// takes no lock, unless `makes` says that a device becomes known.
  func changingDevices<Value>(orMake makes: Bool = true, _ body: () throws -> Value) throws -> Value {
    if try !makes && openFolder(Self.devicesFolder) == nil { return try body() }
    let folder = try storing { () throws(SystemError) in try openOrMakeFolder(Self.devicesFolder) }
    guard
      try storing({ () throws(SystemError) in try folder.directory.descriptor.lockOnceFree(within: Self.endPatience) })
    else {
      throw Failure(
        .inUse, "another process changes the records of known devices in \(VisibleText.quoted(home))",
        hint: "Try again.")
    }
    return try withExtendedLifetime(folder) { try body() }
  }

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

  /// Gives the only device whose name, label or key begins so the user's name.
  package func name(_ typed: String, _ name: String) throws(Failure) -> KnownDevice {
    do {
      return try changingDevices {
        var device = try self.device(typed: typed)
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
  func device(typed: String) throws(Failure) -> KnownDevice {
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
