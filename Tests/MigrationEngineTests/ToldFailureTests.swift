import MigrationWire
import Testing

@testable import MigrationEngine

/// The meaning of a CLOSE from the other end, and its fields besides the message, in words.
@Suite struct ToldFailureTests {
  private func words(_ close: Close) -> String { TransferFailure(told: close).message }

  @Test(
    arguments: [
      (Close.Code.interrupted, TransferFailure.Kind.connectionLost), (.violation, .failed), (.version, .failed),
      (.refused, .refused), (.exists, .refused), (.noSpace, .noSpace), (.unfit, .refused), (.storage, .failed),
      (.importFailed, .importFailed), (.exportFailed, .exportFailed), (.unknownTransfer, .refused),
      (.announcement, .failed), (.otherApp, .refused), (.silent, .connectionLost), (.superseded, .failed),
      (Close.Code(rawValue: 99), .failed),
    ] as [(Close.Code, TransferFailure.Kind)])
  func `a reason from the other device ends this one with the documented code`(
    code: Close.Code, kind: TransferFailure.Kind
  ) {
    let failure = TransferFailure(told: Close(code, "a \u{1B}[31m reason", hint: "Do \u{202E}this."))
    #expect(failure.kind == kind)
    #expect(!failure.message.unicodeScalars.contains("\u{1B}"))
    #expect(failure.hint?.contains("this") != true, "the hint is this device's own")
  }

  @Test func `missing room is reported in sizes for people`() {
    let bytes = Close.Space(needed: 12_300_000_000, available: 4_100_000_000)
    #expect(
      words(Close(.noSpace, "not enough space: 12300000000 bytes", bytes: bytes))
        == "the other device stopped: there is not enough space; it needs 12.3 GB and has 4.1 GB")
    let items = Close.Space(needed: 1_204, available: 12)
    #expect(
      words(Close(.noSpace, "no", bytes: Close.Space(needed: 4_100_000_001, available: 4_100_000_000), items: items))
        == "the other device stopped: there is not enough space; it needs 4,100,000,001 bytes and has 4,100,000,000 bytes; "
        + "it needs 1,204 file system entries and has 12")
    let few = Close(.noSpace, "no", bytes: Close.Space(needed: 1, available: 2), items: items)
    #expect(TransferFailure(told: few).hint == Close.Space.entriesHint)
    #expect(
      words(Close(.noSpace, "no", bytes: bytes, items: Close.Space(needed: 9, available: 3_000_000)))
        == "the other device stopped: there is not enough space; it needs 12.3 GB and has 4.1 GB")
    #expect(
      words(Close(.noSpace, "writing 'a' failed", name: [0x61])) == #"the other device stopped: "writing 'a' failed""#)
  }

  @Test func `a name that the message lacks is added, and cannot control a terminal`() {
    #expect(
      words(Close(.exists, "it exists", name: Array("a\u{1B}b".utf8)))
        == #"the other device stopped: "it exists" ($'a\x1bb')"#)
    #expect(
      words(Close(.exists, "$'a\\x1bb' exists", name: Array("a\u{1B}b".utf8)))
        == #"the other device stopped: "$'a\x1bb' exists""#)
    #expect(words(Close(.storage, "\" peer: hint: b")) == #"the other device stopped: "\" peer: hint: b""#)
    let long = words(Close(.storage, "no", name: [UInt8](repeating: 0x61, count: 60_000)))
    #expect(long.count < 600 && long.hasSuffix("aaa')"))
  }

  @Test func `the fields stay exact for programs`() {
    let (bytes, items) = (Close.Space(needed: 2, available: 1), Close.Space(needed: 4, available: 3))
    let failure = TransferFailure(told: Close(.noSpace, "no", name: [0xFF], bytes: bytes, items: items))
    #expect(failure.subject == TransferFailure.Subject(name: [0xFF], bytes: bytes, items: items))
  }

  @Test func `an empty name is ignored, and a long one is cut at its beginning`() {
    #expect(words(Close(.storage, "it fails", name: [])) == #"the other device stopped: "it fails""#)
    #expect(words(Close(.storage, "it fails", name: [UInt8](repeating: 0x61, count: 512))).contains("fails\" ('aaa"))
    #expect(words(Close(.storage, "it fails", name: [UInt8](repeating: 0x61, count: 513))).contains("fails\" (…'aaa"))
  }

  @Test func `only a lack of space has figures`() {
    let bytes = Close.Space(needed: 2_000_000, available: 1_000_000)
    #expect(
      words(Close(.storage, "it fails", bytes: bytes))
        == #"the other device stopped: "it fails"; it needs 2.0 MB and has 1.0 MB"#)
  }
}
