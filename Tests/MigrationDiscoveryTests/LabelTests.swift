import Expectations
import Testing

@testable import MigrationDiscovery

/// Instance names and TXT records.
@Suite struct LabelTests {
  @Test(arguments: [
    ("laptop", 1, "laptop"), ("laptop", 2, "laptop (2)"), ("", 1, "peer"), (" \n ", 3, "peer (3)"),
    ("  a\u{1b}[31mb\u{7f}\n c ", 1, "a[31mb c"), ("Büro.eins", 1, "Büro.eins"),
  ])
  func `a label is clean and numbered`(text: String, attempt: Int, label: String) {
    expect(String(decoding: Service.labelBytes(text, attempt: attempt), as: UTF8.self), is: label)
  }

  @Test func `a label is cut between characters`() {
    expect(Service.labelBytes(String(repeating: "a", count: 80)).count, is: 63)
    expect(Service.labelBytes(String(repeating: "a", count: 80), attempt: 12).suffix(8), is: Array("aaa (12)".utf8))
    let umlauts = Service.labelBytes(String(repeating: "ü", count: 40))
    expect(String(decoding: umlauts, as: UTF8.self), is: String(repeating: "ü", count: 31))
    let family = "👨‍👩‍👧‍👦"
    let families = Service.labelBytes(String(repeating: family, count: 4))
    expect(String(decoding: families, as: UTF8.self), is: family + family)
    // A single character that is longer than a label.
    let stacked = Service.labelBytes("e" + String(repeating: "\u{301}", count: 60))
    expect(stacked.count == 63 && String(validating: stacked, as: UTF8.self) != nil)
  }

  @Test func `a TXT record contains only the number of the run`() {
    expect(Service.text(ofInstance: 0xabc), is: bytes("\"txtvers=1\" \"id=0000000000000abc\""))
    expect(Service.instance(ofText: bytes("\"x\" \"ID=0000000000000ABC\" \"id=0000000000000001\"")), is: 0xabc)
    for text in ["", "\"id\"", "\"id=\"", "\"id=abc\"", "\"id=000000000000000g\"", "ff \"id=0000000000000abc\"", "00"] {
      expect(Service.instance(ofText: bytes(text)) == nil)
    }
    expect(ServiceNames.host(0xabc), is: DNSName("peer-0000000000000abc.local"))
  }
}
