import MigrationWire

/// A record of a journal with any kind and any body, sealed for a position: for contents that no
/// `JournalRecord` has.
package func sealedRecord(_ kind: UInt8, _ body: [UInt8], at position: UInt64, key: UInt128) -> [UInt8] {
  var hash = SipHash(key: key)
  hash.combine(position)
  hash.combine(kind)
  hash.combine(body)
  var writer = ByteWriter()
  writer.u32(UInt32(body.count))
  writer.u8(kind)
  writer.array(body)
  writer.u128(hash.finish())
  return writer.bytes
}
