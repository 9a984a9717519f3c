import Glibc

/// The kernel's records about links and addresses from a route socket, combined. Reads only bytes.
struct RouteRecords {
  /// The parts of rtnetlink(7) that are read here.
  enum Kind {
    static let error: UInt16 = 2
    static let done: UInt16 = 3
    static let link: UInt16 = 16
    static let removedLink: UInt16 = 17
    static let address: UInt16 = 20
    /// In a message: the list changed while it was read.
    static let interruptedFlag: UInt16 = 0x10
    static let linkName: UInt16 = 3
    static let linkDetails: UInt16 = 18
    static let kind: UInt16 = 1
    static let portKind: UInt16 = 4
    static let remoteAddress: UInt16 = 1
    static let localAddress: UInt16 = 2
    static let addressFlags: UInt16 = 8
    /// In an address: another device may have it, or has it.
    static let doubtful: UInt32 = 0x40 | 0x08
    static let deprecated: UInt32 = 0x20
  }

  private struct LinkRecord {
    var name = ""
    var flags: UInt32 = 0
    var isPort = false
    var isMadeUp = false
  }

  private var links: [UInt32: LinkRecord] = [:]
  private var addresses: [UInt32: [NetworkInterface.Address]] = [:]
  /// Whether the answer is complete.
  private(set) var isAtEnd = false
  /// The error number that the kernel returned instead of an answer; zero for none.
  private(set) var failure: CInt = 0
  /// Whether the interfaces changed while an answer was created.
  private(set) var isInterrupted = false

  /// The interfaces in the records.
  var interfaces: [NetworkInterface] {
    links.sorted { $0.key < $1.key }.map { index, link in
      NetworkInterface(
        index: index, name: link.name, flags: NetworkInterface.Flags(rawValue: link.flags), isPort: link.isPort,
        isMadeUp: link.isMadeUp, addresses: addresses[index] ?? [])
    }
  }

  /// Prepares for the next answer.
  mutating func begin() { isAtEnd = false }

  /// Adds the messages of one datagram.
  mutating func add(_ bytes: [UInt8]) {
    var rest = Fields(bytes[...])
    while let length = rest.word(at: 0), let kind = rest.half(at: 4), let flags = rest.half(at: 6),
      let message = rest.take(Int(length), atLeast: 16)
    {
      if flags & Kind.interruptedFlag != 0 { isInterrupted = true }
      let body = message.from(16)
      switch kind {
      case Kind.error:
        // The least number has no negative.
        failure = body.word(at: 0).map { 0 &- CInt(bitPattern: $0) } ?? 0
        isAtEnd = true
      case Kind.done: isAtEnd = true
      case Kind.link: addLink(body)
      case Kind.address: addAddress(body)
      default: break
      }
    }
  }

  private mutating func addLink(_ body: Fields) {
    guard let index = body.word(at: 4), let flags = body.word(at: 8) else { return }
    var link = LinkRecord(flags: flags)
    body.from(16).forEachAttribute { kind, value in
      switch kind {
      case Kind.linkName: link.name = value.text
      case Kind.linkDetails:
        value.forEachAttribute { kind, value in
          // Only interfaces that the system creates have a kind; a device has none.
          if kind == Kind.kind { link.isMadeUp = true }
          if kind == Kind.portKind { link.isPort = ["bridge", "bond", "team"].contains(value.text) }
        }
      default: break
      }
    }
    links[index] = link
  }

  private mutating func addAddress(_ body: Fields) {
    guard let family = body.byte(at: 0), let prefix = body.byte(at: 1), var flags = body.byte(at: 2).map(UInt32.init),
      let index = body.word(at: 4)
    else { return }
    var local: [UInt8]?
    var remote: [UInt8]?
    body.from(8).forEachAttribute { kind, value in
      switch kind {
      case Kind.localAddress: local = Array(value.bytes)
      case Kind.remoteAddress: remote = Array(value.bytes)
      case Kind.addressFlags: flags = value.word(at: 0) ?? flags
      default: break
      }
    }
    // In a tunnel one address is this device's and the other is the other end's; on other
    // interfaces there is one, or both are the same.
    guard let bytes = local ?? remote else { return }
    let address: SocketAddress
    switch (CInt(family), bytes.count) {
    case (AF_INET, 4): address = SocketAddress(family: .v4, bytes: bytes, port: 0)
    case (AF_INET6, 16):
      let plain = SocketAddress(family: .v6, bytes: bytes, port: 0)
      address = plain.isLinkLocal ? SocketAddress(family: .v6, bytes: bytes, scope: index, port: 0) : plain
    default: return
    }
    addresses[index, default: []].append(
      NetworkInterface.Address(
        address, prefix: Int(prefix), isReady: flags & Kind.doubtful == 0,
        isDeprecated: flags & Kind.deprecated != 0))
  }

  /// Bytes with numbers in this machine's byte order, in the kernel's layout; fields beyond the end
  /// are nil.
  struct Fields {
    var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    func byte(at offset: Int) -> UInt8? {
      offset < bytes.count ? bytes[bytes.startIndex + offset] : nil
    }

    func half(at offset: Int) -> UInt16? {
      guard let low = byte(at: offset), let high = byte(at: offset + 1) else { return nil }
      return UInt16(littleEndian: UInt16(low) | UInt16(high) << 8)
    }

    func word(at offset: Int) -> UInt32? {
      guard offset + 4 <= bytes.count else { return nil }
      let start = bytes.startIndex + offset
      return UInt32(littleEndian: bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) })
    }

    func from(_ offset: Int) -> Fields { Fields(bytes.dropFirst(offset)) }

    /// A text that ends at its first zero byte.
    var text: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    /// Takes a part that begins with its length, and its padding to four bytes; nil if the length is
    /// wrong.
    mutating func take(_ length: Int, atLeast least: Int) -> Fields? {
      guard length >= least, length <= bytes.count else { return nil }
      defer { bytes = bytes.dropFirst((length + 3) & ~3) }
      return Fields(bytes.prefix(length))
    }

    func forEachAttribute(_ body: (UInt16, Fields) -> Void) {
      var rest = self
      // The two highest bits of a kind describe its encoding.
      while let length = rest.half(at: 0), let kind = rest.half(at: 2), let part = rest.take(Int(length), atLeast: 4) {
        body(kind & 0x3FFF, part.from(4))
      }
    }
  }
}
