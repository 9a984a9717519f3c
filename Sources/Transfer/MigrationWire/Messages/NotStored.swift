/// Protocol §6.5: an item of the archive that is not at the destination, and why. The sender names
/// the items that it leaves out, the receiver the items that it refuses.
package struct NotStored: Hashable, Sendable {
  /// The party whose decision it is.
  package enum Party: String, Sendable {
    /// The sender's device, which could not send the item.
    case sender
    /// The receiver's device, which cannot hold the item.
    case receiver
    /// The receiver's user.
    case user
  }

  /// The other end may have reasons that this end does not know (Protocol §6).
  package struct Reason: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let vanished = Reason(rawValue: 1)
    package static let unreadable = Reason(rawValue: 2)
    package static let keepsChanging = Reason(rawValue: 3)
    /// A FIFO, a socket or a device.
    package static let notSendable = Reason(rawValue: 4)
    package static let beyondLimits = Reason(rawValue: 5)
    /// Something else is in its place; a link is not followed.
    package static let replaced = Reason(rawValue: 6)
    /// A file that belongs together with it has changed.
    package static let torn = Reason(rawValue: 7)
    /// It was made after its folder had been listed.
    package static let madeLater = Reason(rawValue: 8)
    /// Its attributes or lists are beyond the limits, or of an unknown form.
    package static let attributes = Reason(rawValue: 9)

    package static let nameNotAllowed = Reason(rawValue: 16)
    package static let nameTooLong = Reason(rawValue: 17)
    /// The destination does not tell the name from another item's name.
    package static let nameTaken = Reason(rawValue: 18)
    package static let kindNotSupported = Reason(rawValue: 19)
    package static let tooLarge = Reason(rawValue: 20)
    package static let targetTooLong = Reason(rawValue: 21)
    /// The directory that it is in is not stored.
    package static let directoryNotStored = Reason(rawValue: 22)
    /// The target of a hard link is not stored.
    package static let targetNotStored = Reason(rawValue: 23)
    /// Its content is not what was sent.
    package static let differs = Reason(rawValue: 24)
    /// Its metadata came alone, and the content is not there.
    package static let contentUnknown = Reason(rawValue: 25)
    /// The receiver knows no place for it.
    package static let noPlace = Reason(rawValue: 26)
    /// Its earlier version, of which it has pieces, was changed meanwhile.
    package static let baseChanged = Reason(rawValue: 27)
    package static let other = Reason(rawValue: 31)

    /// Programs may run it, or it is a secret.
    package static let notTaken = Reason(rawValue: 32)
    /// Another item has its name, and the sender leaves it out.
    package static let existsAndDiffers = Reason(rawValue: 33)
    /// Another item has its name, and is kept.
    package static let existingKept = Reason(rawValue: 34)
    /// An earlier version was moved or removed there.
    package static let removedThere = Reason(rawValue: 35)

    /// The party whose decision it is; the receiver's where no table lists it.
    package var party: Party {
      switch rawValue {
      case 1...15: .sender
      case 32...47: .user
      default: .receiver
      }
    }
  }

  /// Bytes as the source has them; they may be no path of an archive, if the sender says it.
  package let path: [UInt8]
  package let reason: Reason
  /// The state that the receiver does not hold; nil for an item that the sender has left out.
  package let generation: Generation?
  /// The error of the system that is the cause, by Linux's number.
  package let error: UInt16?
  private var unknown = Fields()

  /// An item that the sender leaves out.
  package init(path: [UInt8], _ reason: Reason, error: UInt16? = nil) {
    self.init(Array(path.prefix(Limits.path)), reason, nil, error)
  }

  /// A state of an item that the receiver does not hold.
  package init(path: ArchivePath, generation: Generation, _ reason: Reason, error: UInt16? = nil) {
    self.init(path.bytes, reason, generation, error)
  }

  private init(_ path: [UInt8], _ reason: Reason, _ generation: Generation?, _ error: UInt16?) {
    self.path = path
    self.reason = reason
    self.generation = generation
    self.error = error
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "an item that is not stored"
    let fields = try Fields(bytes, range, of: subject)
    path = try fields.required(1, subject)
    guard path.count <= Limits.path else { throw Violation(.limit, subject) }
    guard !path.isEmpty else { throw Violation(.value, subject) }
    reason = Reason(rawValue: try fields.requiredNumber(2, subject))
    generation = try fields.number(3, subject)
    error = try fields.number(4, subject)
    guard reason.rawValue != 0, error != 0 else { throw Violation(.value, subject) }
    // A state has a path of the archive, and what the source has not sent has none.
    if generation != nil {
      _ = try ArchivePath(path)
      guard reason.party != .sender else { throw Violation(.field, subject) }
    }
    unknown = fields.unknown(besides: 1...4)
  }

  /// The mark of the state; nil for an item that the sender has left out.
  package func mark(_ keys: TransferKeys) -> Mark? {
    guard let generation, let path = try? ArchivePath(path) else { return nil }
    return keys.mark(path: path, generation: generation)
  }

  /// The item by the path that it has on a device.
  package func named(_ path: [UInt8]) -> NotStored {
    var item = NotStored(path, reason, generation, error)
    item.unknown = unknown
    return item
  }

  /// The bytes that count towards the limit of a session (Protocol §11).
  package var size: Int { path.count + unknown.size }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1, path)
    fields.append(2, [reason.rawValue])
    if let generation { fields.append(3) { $0.u128(generation) } }
    if let error { fields.append(4) { $0.u16(error) } }
    fields.write(with: unknown, to: &writer)
  }
}

extension Sequence<NotStored> {
  /// The items that a session may name.
  package var nameable: [NotStored] {
    var budget = NamingBudget()
    return filter { budget.take($0.size) }
  }
}
