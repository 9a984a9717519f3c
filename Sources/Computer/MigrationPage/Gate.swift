package import MigrationSystem

/// Decides which connections are of the user's programs, and which requests come from the user's own page.
///
/// The address of the page has a ticket, which works once and for a minute, and which the page
/// exchanges for the secret.
package struct Gate: Sendable {
  /// The lifetime of a ticket.
  package static let lifeOfTicket = Duration.seconds(60)
  /// The most tickets that wait.
  static let mostTickets = 8
  /// The name of the field with the secret.
  package static let secretField = "x-peer-secret"
  /// The name of the field with a ticket.
  package static let ticketField = "x-peer-ticket"

  /// The secret that the page sends with each request, in hexadecimal digits.
  package let secret: String
  /// The name that a browser uses for this server.
  package let host: String
  private let owner: UInt32
  private var tickets: [(text: String, end: BootInstant)] = []

  /// The gate of a server on 127.0.0.1 for the programs of a user.
  package init(port: UInt16, owner: UInt32 = CurrentProcess.effectiveUserID) throws(SystemError) {
    self.owner = owner
    secret = try Self.random()
    host = "127.0.0.1:\(port)"
  }

  /// Whether a connection is of a program of the user.
  func admits(_ socket: borrowing StreamSocket) -> Bool { socket.ownerOfOtherEnd == owner }

  /// A new ticket.
  package mutating func newTicket(now: BootInstant) throws(SystemError) -> String {
    let ticket = try Self.random()
    tickets = tickets.filter { $0.end > now }.suffix(Self.mostTickets - 1) + [(ticket, now + Self.lifeOfTicket)]
    return ticket
  }

  /// Whether a ticket still works.
  package func hasTicket(now: BootInstant) -> Bool { tickets.contains { $0.end > now } }

  /// Whether a request was meant for this server, and no other page has made it, except to show the
  /// page alone in a window, as the file that leads a browser here does. A whole name counts, so
  /// that no other name leads here.
  package func isFromHere(_ request: Request) -> Bool {
    guard request.fields["host"] == host else { return false }
    if let origin = request.fields["origin"] { return origin == "http://\(host)" }
    // A browser names the origin of each request that may have an effect.
    guard request.method == .get else { return false }
    let isAlone = request.fields["sec-fetch-mode"] == "navigate" && request.fields["sec-fetch-dest"] == "document"
    return ["same-origin", "none", nil].contains(request.fields["sec-fetch-site"]) || isAlone && request.target == "/"
  }

  /// Whether a request has the secret.
  package func knows(_ request: Request) -> Bool {
    request.fields[Self.secretField].map { Self.isSame($0, secret) } ?? false
  }

  /// Uses a request's ticket up, if it has one that works.
  package mutating func takeTicket(of request: Request, now: BootInstant) -> Bool {
    guard let text = request.fields[Self.ticketField],
      let index = tickets.firstIndex(where: { Self.isSame($0.text, text) })
    else { return false }
    return tickets.remove(at: index).end > now
  }

  private static func random() throws(SystemError) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: try SystemRandom.bytes(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Compares without telling by its time how much agrees.
  private static func isSame(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return zip(left.utf8, right.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
