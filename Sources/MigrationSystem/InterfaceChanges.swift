import CSystem
import Glibc

/// Reports when links or addresses of this device come, go or change. It never blocks.
package final class InterfaceChanges: Sendable {
  private let descriptor: Descriptor

  /// Starts to listen for changes; list the interfaces afterwards, so that no change is missed.
  package init() throws(SystemError) {
    descriptor = Descriptor(
      owning: try calling("watch the network interfaces") { csystem_route_socket(csystem_interface_changes) })
  }

  /// The descriptor to wait for: readable when there are changes.
  package var raw: CInt { descriptor.raw }

  /// The reported changes.
  package struct News: Equatable, Sendable {
    /// Whether there were any changes. Listing the interfaces shows them.
    package var isAny = false
    /// The numbers of interfaces that carried no packets for a while, or were removed: the list
    /// does not show this if they are back.
    package var interrupted: Set<UInt32> = []
  }

  /// Takes the news.
  package func take() -> News {
    var news = News()
    var bytes = [UInt8](repeating: 0, count: LinkNews.length)
    // Changes that come faster than they are read are left for a later call.
    for _ in 0..<256 {
      // Each call takes one message, of which only the beginning is needed.
      let count = unsafe bytes.withUnsafeMutableBytes { unsafe recv(raw, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT)) }
      if count == -1, errno == EAGAIN { break }
      // Also after an error: messages were lost (ENOBUFS).
      news.isAny = true
      if let link = LinkNews(bytes.prefix(max(0, count))), link.isInterrupted { news.interrupted.insert(link.index) }
    }
    return news
  }
}

/// The beginning of a message about a link: rtnetlink(7). Reads only bytes.
struct LinkNews: Equatable {
  /// A header and the fields that all links have.
  static let length = 32
  private static let new: UInt16 = 16
  private static let deleted: UInt16 = 17

  let index: UInt32
  /// Whether the link carries no packets, or was removed.
  let isInterrupted: Bool

  /// Nil if the message is not about a link.
  init?(_ bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count >= Self.length else { return nil }
    func number(_ range: Range<Int>) -> UInt32 { bytes[range].reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    let kind = UInt16(number(4..<6))
    guard kind == Self.new || kind == Self.deleted else { return nil }
    index = number(20..<24)
    let flags = NetworkInterface.Flags(rawValue: number(24..<28))
    isInterrupted = kind == Self.deleted || !flags.isSuperset(of: [.up, .running])
  }
}
