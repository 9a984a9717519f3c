import Expectations
import MigrationPage
import MigrationSystem
import Testing

/// Which requests come from the user's own page.
@Suite struct GateTests {
  private let now = BootInstant(seconds: 100)

  private func request(_ fields: [String: String], _ method: Request.Method = .get) -> Request {
    Request(method, "/", fields: fields)
  }

  @Test func `a ticket works once`() throws {
    var gate = try Gate(port: 80)
    let ticket = try gate.newTicket(now: now)
    let request = request([Gate.ticketField: ticket], .post)
    let (first, second) = (gate.takeTicket(of: request, now: now), gate.takeTicket(of: request, now: now))
    expect(first && !second)
  }

  @Test func `a ticket works for a minute`() throws {
    var gate = try Gate(port: 80)
    let request = request([Gate.ticketField: try gate.newTicket(now: now)], .post)
    expect(gate.hasTicket(now: now) && !gate.hasTicket(now: now + Gate.lifeOfTicket))
    let isTaken = gate.takeTicket(of: request, now: now + Gate.lifeOfTicket)
    expect(!isTaken)
  }

  @Test func `only the secret itself opens`() throws {
    let gate = try Gate(port: 80)
    expect(gate.secret.utf8.count, is: 32)
    expect(gate.knows(request([Gate.secretField: gate.secret])))
    for other in ["", String(gate.secret.dropLast()), gate.secret + "0", try Gate(port: 80).secret] {
      expect(!gate.knows(request([Gate.secretField: other])))
    }
    for place in gate.secret.indices {
      var other = gate.secret
      other.replaceSubrange(place...place, with: other[place] == "0" ? "1" : "0")
      expect(!gate.knows(request([Gate.secretField: other])), "\(other)")
    }
    expect(!gate.knows(request([:])))
  }

  @Test(arguments: [
    "127.0.0.1:81", "127.0.0.1", "localhost:80", "127.0.0.1:80.evil.example", "127.0.0.1:800", "0.0.0.0:80",
    "[::1]:80", "127.0.0.1:80 ", "",
  ])
  func `another host is refused`(host: String) throws {
    expect(try !Gate(port: 80).isFromHere(request(["host": host])))
  }

  @Test(arguments: [
    "http://127.0.0.1:81", "https://127.0.0.1:80", "http://127.0.0.1", "http://127.0.0.1:80.evil.example",
    "http://evil.example", "null", "",
  ])
  func `another origin is refused`(origin: String) throws {
    for method in [Request.Method.get, .post] {
      expect(try !Gate(port: 80).isFromHere(request(["host": "127.0.0.1:80", "origin": origin], method)))
    }
  }

  @Test func `what may have an effect names its origin`() throws {
    let gate = try Gate(port: 80)
    expect(gate.isFromHere(request(["host": gate.host])))
    expect(!gate.isFromHere(request(["host": gate.host], .post)))
    expect(gate.isFromHere(request(["host": gate.host, "origin": "http://\(gate.host)"], .post)))
    expect(!gate.isFromHere(request(["host": gate.host, "sec-fetch-site": "cross-site"])))
  }

  @Test func `another document leads to the page alone in a window, and nowhere else`() throws {
    let gate = try Gate(port: 80)
    func isTaken(_ method: Request.Method, _ target: String, _ mode: String, _ destination: String) -> Bool {
      let fields = [
        "host": gate.host, "sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": destination,
      ]
      return gate.isFromHere(Request(method, target, fields: fields))
    }
    expect(isTaken(.get, "/", "navigate", "document"))
    expect(!isTaken(.get, "/", "navigate", "iframe"))
    expect(!isTaken(.get, "/", "no-cors", "document"))
    expect(!isTaken(.get, "/page.js", "navigate", "document"))
    expect(!isTaken(.post, "/", "navigate", "document"))
  }
}
