/// A request of HTTP/1.1 as the page's browser makes it: one on each connection.
package struct Request: Equatable, Sendable {
  package enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
  }

  package var method: Method
  /// The path, as it was sent.
  package var target: String
  /// The fields by their names in small letters; none occurs twice.
  package var fields: [String: String]
  package var body: [UInt8]

  package init(_ method: Method, _ target: String, fields: [String: String] = [:], body: [UInt8] = []) {
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
  }

  /// The body's lines `name=value`; nil if it is not made of such lines in UTF-8. A value has no
  /// control character.
  package var form: [String: String]? {
    guard let text = String(validating: body, as: UTF8.self) else { return nil }
    var form: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[1].unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }),
        form.updateValue(String(parts[1]), forKey: String(parts[0])) == nil
      else { return nil }
    }
    return form
  }

  /// Reads a request from the bytes of a connection, within bounds.
  package struct Parser: Sendable {
    /// The most bytes before the body.
    package static let longestHead = 16 << 10
    /// The most bytes of a body.
    package static let longestBody = 16 << 10
    /// The most bytes of a path.
    package static let longestTarget = 256
    /// The most fields.
    package static let mostFields = 64

    /// The result of parsing the bytes so far.
    package enum Outcome: Equatable, Sendable {
      case unfinished
      case request(Request)
      /// It is none that a browser sends.
      case refused
    }

    private var bytes: [UInt8] = []
    /// The request without its body, and where its body begins and ends.
    private var head: (request: Request, start: Int, end: Int)?

    package init() {}

    /// Takes the next bytes. After a request or a refusal there are no more.
    package mutating func take(_ more: some Sequence<UInt8>) -> Outcome {
      let searched = max(0, bytes.count - 3)
      bytes += more
      if head == nil {
        let starts = searched..<max(searched, bytes.count - 3)
        let end = starts.first { bytes[$0] == 13 && bytes[$0..<$0 + 4].elementsEqual("\r\n\r\n".utf8) }
        guard let end else { return bytes.count > Self.longestHead ? .refused : .unfinished }
        guard end <= Self.longestHead, let request = Request(head: bytes[..<end]), let length = request.length else {
          return .refused
        }
        head = (request, end + 4, end + 4 + length)
      }
      guard let head, bytes.count >= head.end else { return .unfinished }
      // Another request on the same connection is not answered.
      if bytes.count > head.end { return .refused }
      var request = head.request
      request.body = Array(bytes[head.start...])
      return .request(request)
    }
  }

  /// The request of some bytes before a body; nil if it is none that a browser sends.
  private init?(head: ArraySlice<UInt8>) {
    // A carriage return or a line feed alone ends no line.
    let end: Character = "\r\n"
    let lines = String(decoding: head, as: UTF8.self).split(separator: end, omittingEmptySubsequences: false)
    guard lines.count <= Parser.mostFields + 1,
      lines.allSatisfy({ $0.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 9 } })
    else { return nil }
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, let method = Method(rawValue: String(words[0])), words[2] == "HTTP/1.1",
      words[1].first == "/", words[1].utf8.count <= Parser.longestTarget, !words[1].contains("\t")
    else { return nil }
    self.init(method, String(words[1]))
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
        line[..<colon].allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
      else { return nil }
      var value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      while let last = value.last, last == " " || last == "\t" { value.removeLast() }
      guard fields.updateValue(String(value), forKey: line[..<colon].lowercased()) == nil else { return nil }
    }
  }

  /// The length of the body; nil if it is none that a browser sends.
  private var length: Int? {
    guard fields["transfer-encoding"] == nil else { return nil }
    guard let text = fields["content-length"] else { return 0 }
    // Int would also take a sign.
    guard (1...9).contains(text.utf8.count), text.allSatisfy(\.isNumber), let length = Int(text),
      length <= Parser.longestBody, length == 0 || method == .post
    else { return nil }
    return length
  }
}

/// The status of a response.
package enum Status: Int, Sendable {
  case fine = 200
  /// Done, and there is nothing to say.
  case done = 204
  case malformed = 400
  case forbidden = 403
  case notFound = 404
  /// Not now: nothing waits for this.
  case conflict = 409
  /// It comes from elsewhere: another Host or another page.
  case misdirected = 421
  case failed = 500
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

  /// The head of a response, whose status needs no words: the page loads nothing from elsewhere, and no other page may frame or read it.
  private static func head(_ status: Status, _ type: String) -> String {
    """
    HTTP/1.1 \(status.rawValue) \r
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
