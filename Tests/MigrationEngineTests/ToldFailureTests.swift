import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The meaning of a CLOSE from the other end, and its fields besides the message, in words.
@Suite struct ToldFailureTests {
  private func words(_ close: Close) -> String { Failure(told: close).message }

  @Test(
    arguments: [
      (Close.Code.interrupted, Failure.Kind.connectionLost), (.violation, .failed), (.version, .failed),
      (.refused, .refused), (.exists, .refused), (.noSpace, .noSpace), (.unfit, .refused), (.storage, .failed),
      (.importFailed, .importFailed), (.exportFailed, .exportFailed), (.unknownTransfer, .refused),
      (.announcement, .failed), (.otherApp, .refused), (.silent, .connectionLost), (.superseded, .failed),
      (Close.Code(rawValue: 99), .failed),
    ] as [(Close.Code, Failure.Kind)])
  func `a reason from the other device ends this one with the documented code`(
    code: Close.Code, kind: Failure.Kind
  ) {
    let failure = Failure(told: Close(code, "a \u{1B}[31m reason"))
    expect(failure.kind, is: kind)
    expect(!failure.message.unicodeScalars.contains("\u{1B}"))
  }

  @Test func `missing room is reported in sizes for people`() {
    let bytes = Close.Space(needed: 12_300_000_000, available: 4_100_000_000)
    expect(
      words(Close(.noSpace, "not enough space: 12300000000 bytes", bytes: bytes)),
      is: "the other device stopped: there is not enough space; it needs 12.3 GB and has 4.1 GB")
    let items = Close.Space(needed: 1_204, available: 12)
    expect(
      words(Close(.noSpace, "no", bytes: Close.Space(needed: 4_100_000_001, available: 4_100_000_000), items: items)),
      is:
        "the other device stopped: there is not enough space; it needs 4,100,000,001 bytes and has 4,100,000,000 bytes; "
        + "it needs 1,204 file system entries and has 12")
    let few = Close(.noSpace, "no", bytes: Close.Space(needed: 1, available: 2), items: items)
    expect(Failure(told: few).hint, is: Close.Space.entriesHint)
    expect(
      words(Close(.noSpace, "no", bytes: bytes, items: Close.Space(needed: 9, available: 3_000_000))),
      is: "the other device stopped: there is not enough space; it needs 12.3 GB and has 4.1 GB")
    expect(
      words(Close(.noSpace, for: .outgrown, bytes: Close.Space(needed: 13_893_745, available: 13_893_632))),
      is: "the other device stopped: there is not enough space: more comes than the app has estimated, and how much is "
        + "not known; it has 13.9 MB, and at least 113 B are missing")
    expect(words(Close(.noSpace)), is: "the other device stopped: there is not enough space")
    expect(
      words(Close(.noSpace, for: .tooMuch, bytes: bytes)),
      is: "the other device stopped: the transfer has 12.3 GB, and the receiver takes at most 4.1 GB (--max-size)")
    let most = Close.Space(needed: 4_100_000_000, available: 4_100_000_000)
    expect(
      words(Close(.noSpace, for: .tooMuch, bytes: most)),
      is: "the other device stopped: the session exceeds 4.1 GB, the most that the receiver takes (--max-size)")
  }

  @Test func `a known code or cause is worded here, with its name and error, and no text of the other device`() {
    let name = Array("a\u{1B}b".utf8)
    expect(
      words(Close(.exists, "text", name: name)),
      is: #"the other device stopped: $'a\x1bb' already exists in the destination"#)
    expect(
      words(Close(.storage, "text", name: [0x61], error: 5)),
      is: "the other device stopped: its disk or its system has failed ('a'): Input/output error")
    expect(words(Close(.storage, error: 999)).hasSuffix("has failed: error 999 of the system"))
    expect(
      words(Close(.unknownTransfer, "text", for: .forgotten)),
      is: "the other device stopped: its user has forgotten this device")
    expect(words(Close(.silent)), is: "the other device stopped: its connections broke, or nothing came for too long")
    expect(words(Close(.refused)), is: "the other device did not take it: its user does not want it")
    for code in (1...21).map({ Close.Code(rawValue: $0) }) where code.isWorded && code != .silent {
      expect(!words(Close(code, "text")).contains("text"), "\(code)")
      expect(words(Close(code, "text", for: Close.Cause(rawValue: 999))), is: words(Close(code)), "\(code)")
    }
  }

  @Test func `every cause has words of its own`() {
    let all = (1...18).map { words(Close(.other, for: Close.Cause(rawValue: $0))) }
    expect(Set(all).count == 18 && all.allSatisfy { !$0.contains("code") })
  }

  @Test func `without words of its own, this device quotes the other one, or names the code`() {
    expect(words(Close(.violation, "\" peer: hint: b")), is: #"the other device stopped: "\" peer: hint: b""#)
    expect(words(Close(.importFailed, "no \u{1B}")), is: #"the other device stopped: "no \u{1b}""#)
    expect(words(Close(Close.Code(rawValue: 99))), is: "the other device stopped: it does not say why (code 99)")
    expect(words(Close(.silent, "stream 3 has joined before")).hasSuffix(#""stream 3 has joined before""#))
    let long = words(Close(.storage, name: [UInt8](repeating: 0x61, count: 60_000)))
    expect(long.count < 600 && long.hasSuffix("aaa')"))
  }

  @Test func `the fields stay exact for programs`() {
    let (bytes, items) = (Close.Space(needed: 2, available: 1), Close.Space(needed: 4, available: 3))
    let failure = Failure(told: Close(.noSpace, "no", name: [0xFF], bytes: bytes, items: items))
    expect(failure.name == [0xFF] && failure.bytes == bytes && failure.items == items)
  }

  @Test func `a message that stands for a system's error is not followed by that`() {
    expect(!words(Close(.importFailed, "it cannot be imported: No", error: 13)).contains("Permission denied"))
  }

  @Test func `an empty name is ignored, and a long one is cut at its beginning`() {
    expect(words(Close(.storage, name: [])), is: words(Close(.storage)))
    expect(words(Close(.storage, name: [UInt8](repeating: 0x61, count: 512))).contains("failed ('aaa"))
    expect(words(Close(.storage, name: [UInt8](repeating: 0x61, count: 513))).contains("failed (…'aaa"))
  }
}
