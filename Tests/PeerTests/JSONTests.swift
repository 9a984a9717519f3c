import Expectations
import Testing

@testable import peer

@Suite struct JSONTests {
  @Test(arguments: [
    ("plain", #""plain""#), ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\r\t", #""\n\r\t""#),
    ("\0\u{1}\u{1F}\u{7F}", #""\u0000\u0001\u001f\u007f""#), ("\u{1B}[2J\u{9B}", #""\u001b[2J\u009b""#),
    ("\u{2028}\u{2029}\u{202E}\u{200B}", #""\u2028\u2029\u202e\u200b""#), ("é€😀", #""é€😀""#),
    ("\u{E0041}", #""\udb40\udc41""#), ("e\u{301}\r\n", "\"e\u{301}\\r\\n\""),
  ])
  func `characters that disturb a terminal or a parser are escaped`(string: String, text: String) {
    expect(string.json, is: text)
  }

  @Test func `values are written without white space, members in their order`() {
    let value: JSONMembers = [
      "b": [nil, true, false] as [Bool?], "a": UInt64.max, "c": 14.25, "n\"": [:] as JSONMembers, "d": Double.nan,
      "e": -1,
    ]
    expect(value.json, is: #"{"b":[null,true,false],"a":18446744073709551615,"c":14.25,"n\"":{},"d":null,"e":-1}"#)
  }

  @Test func `a name that is text has no Base64 form`() {
    let members: JSONMembers = ["path": FileName(Array("a\\b".utf8))]
    expect(members.json, is: #"{"path":"a\\b"}"#)
  }

  @Test func `a name that is not UTF-8 is escaped, and its bytes are added`() {
    let members: JSONMembers = ["path": FileName([0x61, 0xFF, 0x0A])]
    expect(members.json, is: #"{"path":"a\\xff\\n","pathBase64":"Yf8K"}"#)
  }
}
