import Expectations
import Testing

@testable import peer

@Suite struct JSONValueTests {
  @Test(arguments: [
    ("plain", #""plain""#), ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\r\t", #""\n\r\t""#),
    ("\0\u{1}\u{1F}\u{7F}", #""\u0000\u0001\u001f\u007f""#), ("\u{1B}[2J\u{9B}", #""\u001b[2J\u009b""#),
    ("\u{2028}\u{2029}\u{202E}\u{200B}", #""\u2028\u2029\u202e\u200b""#), ("é€😀", #""é€😀""#),
    ("\u{E0041}", #""\udb40\udc41""#), ("e\u{301}\r\n", "\"e\u{301}\\r\\n\""),
  ])
  func `characters that disturb a terminal or a parser are escaped`(string: String, text: String) {
    expect(JSONValue.string(string).text, is: text)
  }

  @Test func `values are written without white space, members in their order`() {
    let value = JSONValue.object([
      .init("b", .array([.null, .bool(true), .bool(false)])), .init("a", .integer(.max)), .init("c", .number(14.25)),
      .init("n\"", .object([])), .init("d", .number(.nan)),
    ])
    expect(value.text, is: #"{"b":[null,true,false],"a":18446744073709551615,"c":14.25,"n\"":{},"d":null}"#)
  }

  @Test func `a name that is text has no Base64 form`() {
    expect(JSONValue.Member.name("path", Array("a\\b".utf8)), is: [.init("path", .string("a\\b"))])
  }

  @Test func `a name that is not UTF-8 is escaped, and its bytes are added`() {
    expect(
      JSONValue.Member.name("path", [0x61, 0xFF, 0x0A]),
      is: [.init("path", .string("a\\xff\\n")), .init("pathBase64", .string("Yf8K"))])
  }
}
