import CSystem
import Glibc

/// Hears from the kernel that links or addresses of this device come, go or change. It never blocks.
package final class InterfaceChanges: Sendable {
  private let descriptor: Descriptor

  /// Hears of what changes from now on; list the interfaces afterwards, so that no change falls in between.
  package init() throws(SystemError) {
    descriptor = Descriptor(
      owning: try calling("watch the network interfaces") { csystem_route_socket(csystem_interface_changes) })
  }

  /// The descriptor to wait for: readable when something has changed.
  package var raw: CInt { descriptor.raw }

  /// What was heard.
  package struct News: Equatable, Sendable {
    /// Whether there was anything. What has changed is seen by listing the interfaces.
    package var isAny = false
    /// The numbers of interfaces that carried no packets for a while, or went: what the list does not show if they are back.
    package var interrupted: Set<UInt32> = []
  }

  /// Takes the news.
  package func take() -> News {
    var news = News()
    var bytes = [UInt8](repeating: 0, count: LinkNews.length)
    // What comes faster than it is taken ends some later look.
    for _ in 0..<256 {
      // Each call takes one message, of which only the beginning matters.
      let count = unsafe bytes.withUnsafeMutableBytes { unsafe recv(raw, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT)) }
      if count == -1, errno == EAGAIN { break }
      // Also an error: messages were lost (ENOBUFS).
      news.isAny = true
      if let link = LinkNews(bytes.prefix(max(0, count))), link.isInterrupted { news.interrupted.insert(link.index) }
    }
    return news
  }
}

/// The beginning of a message about a link: rtnetlink(7). Reads bytes only.
struct LinkNews: Equatable {
  /// A header and what is the same for all links.
  static let length = 32
  private static let new: UInt16 = 16
  private static let deleted: UInt16 = 17

  let index: UInt32
  /// Whether the link carries no packets, or is gone.
  let isInterrupted: Bool

  /// Nil if it is about something else.
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
