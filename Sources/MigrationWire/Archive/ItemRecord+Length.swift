extension ItemRecord {
  /// The number of bytes that `write` writes. The record counts as that many bytes of
  /// metadata (Protocol §6.2, metadata).
  package var length: Int {
    // Kind and generation, and their tags and lengths.
    var length = Fields.length(ofValue: path.bytes.count) + 3 + 18
    if mode != nil { length += 4 }
    if modified != nil { length += 14 }
    if owner != nil { length += 10 }
    switch body {
    case .directory: break
    case .file: length += 10
    case .symbolicLink(let target): length += Fields.length(ofValue: target.count)
    case .hardLink(let target): length += Fields.length(ofValue: target.bytes.count)
    }
    if !attributes.isEmpty { length += Fields.length(ofValue: attributes.reduce(0) { $0 + $1.length }) }
    if !accessList.isEmpty { length += Fields.length(ofValue: AccessEntry.size * accessList.count) }
    if !defaultAccessList.isEmpty { length += Fields.length(ofValue: AccessEntry.size * defaultAccessList.count) }
    return length + unknown.length
  }

  /// The same item with only its path, kind and generation.
  package var bare: ItemRecord { ItemRecord(path: path, generation: generation, body: body) }
}

extension ExtendedAttribute {
  /// The length of the attribute in a list.
  fileprivate var length: Int { 1 + name.count + ByteWriter.varintSize(UInt64(value.count)) + value.count }
}
