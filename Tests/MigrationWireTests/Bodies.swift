@testable import MigrationWire

typealias Field = (UInt8, [UInt8])

/// A body of fields; their order is not checked here.
func body(_ fields: [Field]) -> [UInt8] {
  var writer = ByteWriter()
  for (tag, value) in fields {
    writer.u8(tag)
    writer.string(value)
  }
  return writer.bytes
}

/// The fields with one replaced, added or, where nil, left out.
func changed(_ fields: [Field], _ tag: UInt8, _ value: [UInt8]?) -> [UInt8] {
  let rest = fields.filter { $0.0 != tag } + (value.map { [(tag, $0)] } ?? [])
  return body(rest.sorted { $0.0 < $1.0 })
}

/// A message on the control connection from its body.
func read(_ type: FrameType, _ body: [UInt8]) throws(Violation) -> ControlMessage? {
  try ControlMessage(type, body.span, 0..<body.count)
}

/// The violation that the body is; nil for a valid one.
func code(_ type: FrameType, _ body: [UInt8]) -> Violation.Code? {
  violation { () throws(Violation) in _ = try read(type, body) }
}

/// Bytes with their length in front (Protocol §5).
func string(_ value: [UInt8]) -> [UInt8] {
  var writer = ByteWriter()
  writer.string(value)
  return writer.bytes
}

func u16(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)] }
func u32(_ value: UInt32) -> [UInt8] { u16(UInt16(value >> 16)) + u16(UInt16(truncatingIfNeeded: value)) }
func u64(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - $0 * 8)) } }
