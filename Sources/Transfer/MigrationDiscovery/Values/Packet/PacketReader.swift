import MigrationSystem

extension DNSPacket {
  /// Reads the parts of a packet. The work is bounded by the packet's length: names point only
  /// backwards.
  struct Reader {
    /// The root, a type and a class.
    static let shortestQuestion = 5
    /// The root, a type, a class, a time and a length.
    static let shortestRecord = 11
    /// The most pointers in one name.
    static let mostPointers = 64

    private let bytes: [UInt8]
    private var at = 0
    /// The length of the data read so far, without compression.
    private var expanded = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bytes left.
    var left: Int { bytes.count - at }

    mutating func word() throws(DNSPacket.Mistake) -> UInt16 {
      guard left >= 2 else { throw .truncated }
      defer { at += 2 }
      return UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1])
    }

    /// The class of the Internet, and any class.
    private static let (internet, anyClass): (UInt16, UInt16) = (1, 255)

    mutating func question() throws(DNSPacket.Mistake) -> DNSQuestion? {
      let question = DNSQuestion(try name(), DNSType(rawValue: try word()))
      return [Self.internet, Self.anyClass].contains(try word() & 0x7fff) ? question : nil
    }

    mutating func record() throws(DNSPacket.Mistake) -> DNSRecord? {
      let name = try name()
      let type = DNSType(rawValue: try word())
      let word = try word()
      let ttl = UInt32(try self.word()) << 16 | UInt32(try self.word())
      let length = Int(try self.word())
      guard length <= left else { throw .truncated }
      let end = at + length
      guard word & 0x7fff == Self.internet, let data = try data(type, to: end) else {
        at = end
        return nil
      }
      return DNSRecord(name, data, ttl: ttl, flushes: word & 0x8000 != 0)
    }

    /// Reads exactly up to `end`, which is inside the packet; nil for data of another type.
    private mutating func data(_ type: DNSType, to end: Int) throws(DNSPacket.Mistake) -> DNSRecordData? {
      let data: DNSRecordData
      switch type {
      case .a, .aaaa:
        guard end - at == (type == .a ? 4 : 16) else { throw .length }
        return .address(SocketAddress(family: type == .a ? .v4 : .v6, bytes: take(to: end), port: 0))
      case .ptr:
        data = .pointer(try name())
      case .srv:
        guard end - at > 6 else { throw .length }
        data = .service(
          ServiceLocation(priority: try word(), weight: try word(), port: try word(), target: try name()))
      case .txt:
        return .text(take(to: end))
      default:
        return nil
      }
      guard at == end else { throw .length }
      return data
    }

    /// The bytes up to `end`, which is inside the packet and not before the current position.
    private mutating func take(to end: Int) -> [UInt8] {
      defer { at = end }
      expanded += end - at
      return Array(bytes[at..<end])
    }

    /// A name; its later parts may be earlier in the packet.
    private mutating func name() throws(DNSPacket.Mistake) -> DNSName {
      var wire: [UInt8] = []
      var place = at
      // The start of this run of labels: a pointer leads to a position before it, so that no name is
      // endless.
      var begin = at
      var end: Int?
      var pointers = 0
      while true {
        guard place < bytes.count else { throw .truncated }
        let length = Int(bytes[place])
        switch length {
        case 0:
          wire.append(0)
          at = end ?? place + 1
          // The other fields of a question or record are as long here as in the packet: at most 16
          // bytes a name.
          expanded += wire.count + 16
          guard expanded + 12 <= DNSPacket.longest else { throw .tooLong }
          return DNSName(wire: wire)
        case 1...DNSName.longestLabel:
          guard place + length < bytes.count else { throw .truncated }
          guard wire.count + 1 + length < DNSName.longest else { throw .name }
          wire += bytes[place...place + length]
          place += 1 + length
        case 0xc0...:
          guard place + 1 < bytes.count else { throw .truncated }
          let target = (length & 0x3f) << 8 | Int(bytes[place + 1])
          guard target < begin, target >= 12, pointers < Self.mostPointers else { throw .name }
          pointers += 1
          end = end ?? place + 2
          place = target
          begin = target
        default:
          throw .name
        }
      }
    }
  }

  /// Writes the parts of a packet. A name whose end is already in the packet points to it.
  struct Writer {
    /// The farthest position that a pointer can reach.
    private static let farthest = 0x3fff

    private(set) var bytes: [UInt8] = []
    /// The positions of the ends of names, in their sent form, byte for byte.
    private var places: [ArraySlice<UInt8>: Int] = [:]

    mutating func word(_ value: UInt16) { bytes += [UInt8(value >> 8), UInt8(value & 0xff)] }

    mutating func question(_ question: DNSQuestion) {
      name(question.name)
      word(question.type.rawValue)
      word(1)
    }

    mutating func record(_ record: DNSRecord) {
      name(record.name)
      word(record.type.rawValue)
      word(record.flushes ? 0x8001 : 1)
      word(UInt16(record.ttl >> 16))
      word(UInt16(record.ttl & 0xffff))
      let lengthAt = bytes.count
      word(0)
      data(record.data)
      let length = bytes.count - lengthAt - 2
      bytes[lengthAt] = UInt8(length >> 8)
      bytes[lengthAt + 1] = UInt8(length & 0xff)
    }

    private mutating func data(_ data: DNSRecordData) {
      switch data {
      case .address(let address): bytes += address.bytes
      case .pointer(let target): name(target)
      case .service(let location):
        bytes += location.numbers
        name(location.target)
      case .text(let content): bytes += content
      }
    }

    private mutating func name(_ name: DNSName) {
      var rest = name.wire[...]
      while let length = rest.first, length > 0 {
        if let place = places[rest] {
          word(0xc000 | UInt16(place))
          return
        }
        if bytes.count <= Self.farthest { places[rest] = bytes.count }
        bytes += rest.prefix(1 + Int(length))
        rest = rest.dropFirst(1 + Int(length))
      }
      bytes.append(0)
    }
  }
}
