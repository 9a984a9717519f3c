/// Writes the parts of a packet. A name whose end is already in the packet points to it.
struct PacketWriter {
  /// The farthest position that a pointer can reach.
  private static let farthest = 0x3fff

  private(set) var bytes: [UInt8] = []
  private let compressesTargets: Bool
  /// The positions of the ends of names, in their sent form, byte for byte.
  private var places: [ArraySlice<UInt8>: Int] = [:]

  init(compressesTargets: Bool) { self.compressesTargets = compressesTargets }

  mutating func word(_ value: UInt16) { bytes += [UInt8(value >> 8), UInt8(value & 0xff)] }

  mutating func question(_ question: DNSQuestion) {
    name(question.name)
    word(question.type.rawValue)
    word(question.questionClass | (question.wantsUnicast ? 0x8000 : 0))
  }

  mutating func record(_ record: DNSRecord) {
    name(record.name)
    word(record.type.rawValue)
    word(record.recordClass | (record.flushes ? 0x8000 : 0))
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
      if compressesTargets { name(location.target) } else { bytes += location.target.wire }
    case .text(let content), .opaque(_, let content): bytes += content
    case .types(let next, let bitmap):
      name(next)
      bytes += bitmap
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
