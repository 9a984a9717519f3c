import Expectations
import MigrationEngine
import MigrationTransfer
import MigrationWire
import Testing

@testable import peer

@Suite struct CodeEntryTests {
  private func ask(_ lines: String...) -> (Result<TypedCode, Failure>, said: [String], left: Int) {
    var lines = lines[...]
    var said: [String] = []
    let result = Result { () throws(Failure) in
      try CodeEntry.ask({ lines.popFirst().map { Array($0.utf8) } }) { said.append($0) }
    }
    return (result, said, lines.count)
  }

  private let slip = "That is not a valid code: one digit is wrong, or two are swapped."

  @Test(arguments: ["48291367", "4829-1367", " 4829 1367\r"])
  func `a code is valid with any separators`(line: String) throws {
    let (result, said, _) = ask(line)
    expect(try result.get(), is: TypedCode(code: PairingCode(number: 4_829_136)))
    expect(said.isEmpty)
  }

  @Test func `a typing error is reported at once, and the question is repeated`() throws {
    let (result, said, left) = ask("4829-1376", "4829", "4829-1367", "unread")
    expect(try result.get().code.shown, is: "4829-1367")
    expect(said, is: [slip, "That is not a code: a code has eight digits, such as 4829-1367."])
    expect(left, is: 1)
  }

  @Test func `the question ends after three typing errors`() {
    let (result, said, left) = ask("4829-1376", "4829-1376", "4829-1376", "4829-1367")
    expect(
      result,
      is: .failure(
        Failure(
          .pairing, "no valid code was entered",
          hint: "Check the code shown on the other device, and run the command again.")))
    expect(said, is: [slip, slip, slip])
    expect(left, is: 1)
  }

  @Test func `the end of the input is a failure`() {
    expect(ask().0, is: .failure(Failure(.pairing, "no code was entered")))
  }

  @Test func `a receiver at a relay needs the place in front of the code`() throws {
    var lines = ["4829-1367", "5725-4829-1367", "5724-4829-1367"][...]
    var said: [String] = []
    let typed = try CodeEntry.ask(isAtRelay: true) {
      lines.popFirst().map { Array($0.utf8) }
    } say: {
      said.append($0)
    }
    expect(typed, is: TypedCode(place: RelayPlace(number: 5724), code: PairingCode(number: 4_829_136)))
    expect(said, is: ["That is only the code: type the whole number, such as 577-4829-1367.", slip])
    let failure = #expect(throws: Failure.self) {
      try CodeEntry.check(Array("4829-1367".utf8), from: "'c'", isAtRelay: true)
    }
    expect(failure?.message, is: "the code in 'c' has no place in front of it, as 577 in 577-4829-1367")
    expect(
      CodeEntry.question(DeviceAddress(name: nil, host: "relay.example.org", port: 1, isRelay: true)),
      is: "Code shown on the other device, through relay.example.org: ")
  }

  @Test func `the question names the device that shows the code`() {
    expect(
      CodeEntry.question(DeviceAddress(name: "new-laptop", host: "192.0.2.7", port: 47470)),
      is: "Code shown on new-laptop (192.0.2.7): ")
    expect(
      CodeEntry.question(DeviceAddress(name: nil, host: "192.0.2.7", port: 47470)), is: "Code shown on 192.0.2.7: ")
    expect(
      CodeEntry.question(DeviceAddress(name: "a\u{202E}\n", host: "::1", port: 1)),
      is: "Code shown on $'a\\u202e\\n' (::1): ")
  }

  @Test(arguments: [
    ("4829-1376", "the code in 'c' is not valid: one digit is wrong, or two are swapped"),
    ("hello", "the first line of 'c' is not a code of eight digits"),
    ("", "the first line of 'c' is not a code of eight digits"),
  ])
  func `an invalid code in a file is a failure`(line: String, message: String) throws {
    expect(try CodeEntry.check(Array("48291367".utf8), from: "'c'").code.shown, is: "4829-1367")
    let failure = #expect(throws: Failure.self) { try CodeEntry.check(Array(line.utf8), from: "'c'") }
    expect(failure?.message, is: message)
    expect(failure?.kind, is: .pairing)
  }
}
