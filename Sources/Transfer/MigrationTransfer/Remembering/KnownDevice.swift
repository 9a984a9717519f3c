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
