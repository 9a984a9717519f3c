/// The status of a response.
package enum Status: Int, Sendable {
  case fine = 200
  /// Done, and there is nothing to say.
  case done = 204
  case malformed = 400
  case forbidden = 403
  case notFound = 404
  case otherMethod = 405
  /// Not now: nothing waits for this.
  case conflict = 409
  case tooLarge = 413
  /// It comes from elsewhere: another Host or another page.
  case misdirected = 421
  case tooLong = 431
  case failed = 500
  case otherVersion = 505

  fileprivate var reason: String {
    switch self {
    case .fine: "OK"
    case .done: "No Content"
    case .malformed: "Bad Request"
    case .forbidden: "Forbidden"
    case .notFound: "Not Found"
    case .otherMethod: "Method Not Allowed"
    case .conflict: "Conflict"
    case .tooLarge: "Content Too Large"
    case .misdirected: "Misdirected Request"
    case .tooLong: "Request Header Fields Too Large"
    case .failed: "Internal Server Error"
    case .otherVersion: "HTTP Version Not Supported"
    }
  }
}

/// A response, after which its connection ends.
package struct Response: Equatable, Sendable {
  package var status: Status
  package var type: String
  package var body: [UInt8]

  package init(_ status: Status, _ type: String = "text/plain; charset=utf-8", _ body: [UInt8] = []) {
    self.status = status
    self.type = type
    self.body = body
  }

  /// The bytes on the connection.
  package var bytes: [UInt8] {
    let length = status == .done ? "" : "Content-Length: \(body.count)\r\n"
    return Array((Self.head(status, type) + length + "\r\n").utf8) + body
  }

  /// The beginning of a response without an end: events, one a line, until the connection ends.
  package static let streamHead = Array((head(.fine, "application/x-ndjson") + "\r\n").utf8)

  /// The page needs nothing from elsewhere, is in no frame of another one, and no other page reads it.
  private static func head(_ status: Status, _ type: String) -> String {
    """
    HTTP/1.1 \(status.rawValue) \(status.reason)\r
    Content-Type: \(type)\r
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r
    X-Content-Type-Options: nosniff\r
    X-Frame-Options: DENY\r
    Referrer-Policy: no-referrer\r
    Cross-Origin-Opener-Policy: same-origin\r
    Cross-Origin-Resource-Policy: same-origin\r
    Cache-Control: no-store\r
    Connection: close\r

    """
  }
}
