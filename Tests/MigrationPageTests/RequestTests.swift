import Expectations
import MigrationPage
import Testing

/// Which bytes are a request, and what bounds one has.
@Suite struct RequestTests {
  private func outcome(_ text: String) -> Request.Parser.Outcome {
    var parser = Request.Parser()
    return parser.take(text.utf8)
  }

  private static let post = "POST /send HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nto=me"

  @Test(arguments: 1...post.utf8.count) func `a request in two pieces is the same request`(first: Int) {
    var parser = Request.Parser()
    let bytes = Array(Self.post.utf8)
    if first < bytes.count { expect(parser.take(bytes[..<first]), is: .unfinished) } else { return }
    let request = Request(.post, "/send", fields: ["host": "h", "content-length": "5"], body: Array("to=me".utf8))
    expect(parser.take(bytes[first...]), is: .request(request))
    expect(request.form, is: ["to": "me"])
  }

  @Test(arguments: [
    "GET / HTTP/1.0\r\n\r\n", "PUT / HTTP/1.1\r\n\r\n",
    "GET  / HTTP/1.1\r\n\r\n", "GET http://h/ HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nA:1\r\nA:2\r\n\r\n", "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
    "GET / HTTP/1.1\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\n a: b\r\n\r\n",
    "GET / HTTP/1.1\r\nA: \u{1}\r\n\r\n", "GET / HTTP/1.1\r\nA: é\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\na",
    "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\na",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
    "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "GET /\(String(repeating: "a", count: 256)) HTTP/1.1\r\n\r\n",
    String(repeating: "a", count: Request.Parser.longestHead + 4),
    "GET / HTTP/1.1\r\n" + (0...64).map { "a\($0): 1\r\n" }.joined() + "\r\n",
  ])
  func `what no browser sends is refused`(text: String) {
    expect(outcome(text), is: .refused)
  }

  @Test(arguments: ["a", "a=1\na=2", "a=\u{1}"]) func `a form has one value for each name`(text: String) {
    expect(Request(.post, "/", body: Array(text.utf8)).form == nil)
  }
}
