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
      case refused(Status)
    }

    private var bytes: [UInt8] = []
    /// The request without its body, and where its body begins and ends.
    private var head: (request: Request, start: Int, end: Int)?

    package init() {}

    /// Takes the next bytes. After a request or a refusal there are no more.
    package mutating func take(_ more: some Sequence<UInt8>) -> Outcome {
      let searched = max(0, bytes.count - 3)
      bytes += more
      do throws(Refusal) {
        if head == nil { try readHead(from: searched) }
        guard let head else { return .unfinished }
        if bytes.count < head.end { return .unfinished }
        // Another request on the same connection is not answered.
        if bytes.count > head.end { return .refused(.malformed) }
        var request = head.request
        request.body = Array(bytes[head.start...])
        return .request(request)
      } catch {
        return .refused(error.status)
      }
    }

    private struct Refusal: Error {
      let status: Status

      init(_ status: Status) { self.status = status }
    }

    private static let end = Array("\r\n\r\n".utf8)

    private mutating func readHead(from searched: Int) throws(Refusal) {
      let starts = searched..<max(searched, bytes.count - 3)
      guard let end = starts.first(where: { bytes[$0] == 13 && bytes[$0..<$0 + 4].elementsEqual(Self.end) }) else {
        if bytes.count > Self.longestHead { throw Refusal(.tooLong) }
        return
      }
      guard end <= Self.longestHead else { throw Refusal(.tooLong) }
      var lines = try Self.lines(bytes[..<end])[...]
      var request = try Self.beginning(of: lines.popFirst() ?? [])
      guard lines.count <= Self.mostFields else { throw Refusal(.tooLong) }
      for line in lines {
        let (name, value) = try Self.field(line)
        guard request.fields.updateValue(value, forKey: name) == nil else { throw Refusal(.malformed) }
      }
      let length = try Self.length(of: request)
      head = (request, end + 4, end + 4 + length)
    }

    /// The lines; a carriage return or a line feed alone ends none.
    private static func lines(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> [ArraySlice<UInt8>] {
      let lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
      var result: [ArraySlice<UInt8>] = []
      for (index, line) in lines.enumerated() {
        let isLast = index == lines.count - 1
        guard isLast || line.last == 13 else { throw Refusal(.malformed) }
        let content = isLast ? line : line.dropLast()
        guard content.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 9 }) else { throw Refusal(.malformed) }
        result.append(content)
      }
      return result
    }

    private static func beginning(of line: ArraySlice<UInt8>) throws(Refusal) -> Request {
      let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
      guard words.count == 3, !words[0].isEmpty else { throw Refusal(.malformed) }
      guard words[2].elementsEqual("HTTP/1.1".utf8) else { throw Refusal(.otherVersion) }
      guard let method = Request.Method(rawValue: String(decoding: words[0], as: UTF8.self)) else {
        throw Refusal(.otherMethod)
      }
      let target = words[1]
      guard target.first == UInt8(ascii: "/"), target.count <= longestTarget, !target.contains(9) else {
        throw Refusal(.malformed)
      }
      return Request(method, String(decoding: target, as: UTF8.self))
    }

    private static func field(_ line: ArraySlice<UInt8>) throws(Refusal) -> (String, String) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
        throw Refusal(.malformed)
      }
      let name = line[..<colon]
      guard name.allSatisfy(isNameByte) else { throw Refusal(.malformed) }
      var value = line[(colon + 1)...]
      while let first = value.first, first == 0x20 || first == 9 { value.removeFirst() }
      while let last = value.last, last == 0x20 || last == 9 { value.removeLast() }
      return (String(decoding: name, as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self))
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }

    private static func length(of request: Request) throws(Refusal) -> Int {
      guard request.fields["transfer-encoding"] == nil else { throw Refusal(.malformed) }
      guard let text = request.fields["content-length"] else { return 0 }
      // Int would also take a sign.
      guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { throw Refusal(.malformed) }
      guard text.utf8.count < 10, let length = Int(text), length <= longestBody else { throw Refusal(.tooLarge) }
      guard length == 0 || request.method == .post else { throw Refusal(.malformed) }
      return length
    }
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
  case otherMethod = 405
  /// Not now: nothing waits for this.
  case conflict = 409
  case tooLarge = 413
  /// It comes from elsewhere: another Host or another page.
  case misdirected = 421
  case tooLong = 431
  case failed = 500
  case otherVersion = 505
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
