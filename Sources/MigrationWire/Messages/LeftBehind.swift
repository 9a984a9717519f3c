/// An attribute that items of a source have and that is never carried, and how many have it
/// (Protocol §6.5).
package struct LeftBehind: Equatable, Sendable {
  package let name: [UInt8]
  package let count: UInt64

  package init(name: [UInt8], count: UInt64) {
    self.name = name
    self.count = count
  }

  /// Reads a list of them.
  static func readList(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(Violation) -> [LeftBehind] {
    let subject = "the attributes that are left behind"
    var list: [LeftBehind] = []
    repeat {
      let name = try reader.array(bytes, Int(try reader.u8(bytes)))
      guard !name.isEmpty, list.last.map({ $0.name.lexicographicallyPrecedes(name) }) ?? true else {
        throw Violation(.value, subject)
      }
      guard list.count < Limits.leftBehind else { throw Violation(.limit, subject) }
      list.append(LeftBehind(name: name, count: try reader.u64(bytes)))
    } while !reader.isAtEnd
    return list
  }

  func write(to writer: inout ByteWriter) {
    writer.u8(UInt8(name.count))
    writer.array(name)
    writer.u64(count)
  }
}
