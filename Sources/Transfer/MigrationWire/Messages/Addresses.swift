/// Protocol §6.9: the addresses by which an end of a relayed session may be reached without the
/// relay.
package struct Addresses: Hashable, Sendable {
  /// The most addresses of a message.
  package static let most = 16

  /// Where the end accepts connections.
  package let listening: [InternetAddress]
  /// From where it dials, while the other end dials there.
  package let dialling: [InternetAddress]
  private var unknown = Fields()

  /// With no more addresses than fit: the first ones of each kind, and none twice.
  package init(listening: [InternetAddress], dialling: [InternetAddress]) {
    let dialling = Self.distinct(dialling.filter { !listening.contains($0) })
    let listening = Self.distinct(listening)
    self.listening = Array(listening.prefix(Self.most - min(dialling.count, Self.most / 2)))
    self.dialling = Array(dialling.prefix(Self.most - self.listening.count))
  }

  private static func distinct(_ addresses: [InternetAddress]) -> [InternetAddress] {
    addresses.indices.filter { !addresses[..<$0].contains(addresses[$0]) }.map { addresses[$0] }
  }

  /// All addresses that may be dialled, in the order in which they are tried.
  package var dialable: [InternetAddress] { Self.distinct((listening + dialling).filter(\.isDialable)) }

  init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Violation) {
    let subject = "the addresses"
    let fields = try Fields(bytes, range, of: subject)
    let read = { (reader: inout ByteReader, bytes: Span<UInt8>) throws(Violation) in
      try InternetAddress(&reader, bytes, of: subject)
    }
    listening = try fields.list(1, of: subject, atMost: Self.most, reading: read)
    dialling = try fields.list(2, of: subject, atMost: Self.most, reading: read)
    guard listening.count + dialling.count <= Self.most else { throw Violation(.limit, subject) }
    unknown = fields.unknown(besides: 1...2)
  }

  func write(to writer: inout ByteWriter) {
    var fields = Fields()
    if !listening.isEmpty { fields.append(1) { for address in listening { address.write(to: &$0) } } }
    if !dialling.isEmpty { fields.append(2) { for address in dialling { address.write(to: &$0) } } }
    fields.write(with: unknown, to: &writer)
  }
}
