import Expectations
import Testing

@testable import MigrationDiscovery

/// Instance names and TXT records.
@Suite struct LabelTests {
  @Test(arguments: [
    ("laptop", "laptop"), ("", "peer"), (" \n ", "peer"), ("  a\u{1b}[31mb\u{7f}\n c ", "a[31mb c"),
    ("Büro.eins", "Büro.eins"),
  ])
  func `a label is clean, and ends in the first digits of the run's number`(text: String, label: String) {
    expect(String(decoding: labelBytes(text), as: UTF8.self), is: label + " (3f2a)")
  }

  private func labelBytes(_ text: String) -> [UInt8] {
    Service(label: text, port: 1, instance: 0x3f2a_0000_0000_0000).labelBytes
  }

  @Test func `a label is cut between characters`() {
    expect(labelBytes(String(repeating: "a", count: 80)).count, is: 63)
    let umlauts = labelBytes(String(repeating: "ü", count: 40))
    expect(String(decoding: umlauts, as: UTF8.self), is: String(repeating: "ü", count: 28) + " (3f2a)")
    let family = "👨‍👩‍👧‍👦"
    let families = labelBytes(String(repeating: family, count: 4))
    expect(String(decoding: families, as: UTF8.self), is: family + family + " (3f2a)")
    // A single character that is longer than a label.
    let stacked = labelBytes("e" + String(repeating: "\u{301}", count: 60))
    expect(stacked.count == 62 && String(validating: stacked, as: UTF8.self) != nil)
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
