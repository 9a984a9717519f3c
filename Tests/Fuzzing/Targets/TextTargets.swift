import FuzzDriver
import Glibc
import MigrationPage
import MigrationWire

@testable import MigrationSystem

extension FuzzTarget {
  /// Texts of users, and packets of the network and the kernel.
  static let texts = [
    FuzzTarget("addresses", "addresses, ranges of them, and codes, as users write them", longest: 128) { input in
      checkTexts(Array(input))
    },
    FuzzTarget("routes", "the kernel's messages about links and addresses", longest: 512) { checkRoutes($0) },
    FuzzTarget("requests", "requests of HTTP to the page", longest: 512) { checkRequest($0) },
    FuzzTarget("dns", "packets of multicast DNS", longest: 384) { checkPacket(Array($0)) },
    FuzzTarget("discovery", "the responder and the browser of nearby devices", longest: 32, memory: 4096) { input in
      let bytes = Array(input)
      // Before the name is established, and after.
      var run = bytes.count % 2 == 0 ? DiscoveryWalk.starting : .standing
      run.perform(bytes)
    },
  ]
}

/// A request is the same in one piece and byte by byte, within its bounds, and only the gate's own
/// secret opens.
private func checkRequest(_ input: ArraySlice<UInt8>) {
  var (whole, pieces) = (Request.Parser(), Request.Parser())
  let outcome = whole.take(input)
  var last = Request.Parser.Outcome.unfinished
  for byte in input where last == .unfinished { last = pieces.take([byte]) }
  guard case .request(let request) = outcome else { return }
  promise(last == outcome, "a request in pieces is another one")
  promise(request.fields.count <= Request.Parser.mostFields, "there are too many fields")
  promise(request.target.utf8.count <= Request.Parser.longestTarget, "a path is too long")
  if let gate = read({ try Gate(port: 80) }) { promise(!gate.knows(request), "a secret was guessed") }
  _ = (request.form, Route(request))
}

/// A value that can be read has a text that reads as equal.
private func checkTexts(_ bytes: [UInt8]) {
  if let code = read({ try PairingCode(typed: bytes) }) {
    promise(read { try PairingCode(typed: Array(code.shown.utf8)) } == code, "a code is shown as another one")
  }
  guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else { return }
  if let range = read({ try AddressRange.parse(text) }) {
    promise(read { try AddressRange.parse(range.description) } == range, "a range is written as another one")
    promise((0...128).contains(range.bits), "a range has \(range.bits) bits")
  }
  if let place = read({ try HostAndPort.parse(text, defaultPort: 7) }) {
    promise(read { try HostAndPort.parse(place.text, defaultPort: 8) } == place, "an address is written as another one")
    promise(place.host?.isEmpty != true, "a host is empty")
  }
  if let place = read({ try HostAndPort.parseListening(text, defaultPort: 7) }) {
    promise(read { try HostAndPort.parse(place.text, defaultPort: 8) } == place, "an address is written as another one")
  }
  if let address = SocketAddress(numeric: text, port: 7) {
    promise(SocketAddress(numeric: address.hostDescription, port: 7) == address, "an address is another one")
    _ = AddressRange(address).contains(address)
  }
}

/// Datagrams of a route socket: never more links or addresses than the bytes have room for, and the
/// same ones if each message comes in a datagram of its own.
private func checkRoutes(_ input: ArraySlice<UInt8>) {
  let bytes = Array(input)
  var records = RouteRecords()
  records.begin()
  records.add(bytes)
  promise(records.interfaces.count <= bytes.count / 16, "there are more links than messages")
  promise(
    records.interfaces.reduce(0) { $0 + $1.addresses.count } <= bytes.count / 16,
    "there are more addresses than messages")
  if let link = InterfaceChanges.LinkMessage(bytes) {
    promise(bytes.count >= InterfaceChanges.LinkMessage.length, "link \(link.index) is read from too few bytes")
  }
  var again = RouteRecords()
  again.begin()
  var rest = bytes[...]
  while !rest.isEmpty {
    let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    let isWhole = length >= 16 && length <= rest.count
    again.add(Array(isWhole ? rest.prefix(length) : rest))
    // Another message begins at a multiple of four bytes.
    rest = isWhole ? rest.dropFirst((length + 3) & ~3) : []
  }
  promise(
    again.isAtEnd == records.isAtEnd && again.failure == records.failure
      && again.isInterrupted == records.isInterrupted
      && again.interfaces.map(\.index) == records.interfaces.map(\.index)
      && again.interfaces.map(\.name) == records.interfaces.map(\.name)
      && again.interfaces.map(\.addresses.count) == records.interfaces.map(\.addresses.count),
    "the same messages are read as others")
}
