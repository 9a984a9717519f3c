/// Protocol §6.3: the receiver takes the offer, and says under which names, keys and bounds.
package struct Accept: Equatable, Sendable {
  package let transfer: TransferID
  package let session: SessionID
  package let keys: TransferKeys
  /// How many bytes of DATA bodies may be under way unacknowledged.
  package let window: UInt64
  /// How many data streams may be joined at a time.
  package let streams: UInt16
  /// The features that may be used.
  package let features: Features
  /// The abilities of the destination; nil if they are not known, or if the sender does not ask.
  package let traits: DestinationTraits?
  private let unknown: Fields

  package init(
    transfer: TransferID, session: SessionID, keys: TransferKeys, window: UInt64, streams: UInt16, features: Features,
    traits: DestinationTraits? = nil
  ) {
    self.transfer = transfer
    self.session = session
    self.keys = keys
    self.window = window
    self.streams = streams
    self.features = features
    self.traits = traits
    unknown = Fields()
  }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the acceptance"
    let fields = try Fields(bytes, range, of: subject)
    let id = { (reader: inout ByteReader, bytes: Span<UInt8>) throws(Violation) in try reader.u128(bytes) }
    transfer = try fields.readRequired(1, subject, id)
    session = try fields.readRequired(2, subject, id)
    keys = TransferKeys(
      tagKey: try fields.readRequired(3, subject, id), hashKey: try fields.readRequired(4, subject, id))
    window = try fields.readRequired(5, subject) { reader, bytes throws(Violation) in try reader.u64(bytes) }
    streams = try fields.readRequired(6, subject) { reader, bytes throws(Violation) in try reader.u16(bytes) }
    features = Features(
      rawValue: try fields.readRequired(7, subject) { reader, bytes throws(Violation) in try reader.u64(bytes) })
    traits = try fields.read(8, subject) { reader, bytes throws(Violation) in
      try DestinationTraits(bytes, try reader.take(reader.remaining))
    }
    unknown = fields.unknown(besides: 1...8)
    guard window >= Limits.smallestWindow, (1...Limits.streams).contains(Int(streams)) else {
      throw Violation(.value, subject)
    }
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    fields.append(1) { $0.u128(transfer) }
    fields.append(2) { $0.u128(session) }
    fields.append(3) { $0.u128(keys.tagKey) }
    fields.append(4) { $0.u128(keys.hashKey) }
    fields.append(5) { $0.u64(window) }
    fields.append(6) { $0.u16(streams) }
    fields.append(7) { $0.u64(features.rawValue) }
    if let traits { fields.append(8) { traits.write(to: &$0) } }
    fields.merge(unknown)
    fields.write(to: &writer)
  }
}
