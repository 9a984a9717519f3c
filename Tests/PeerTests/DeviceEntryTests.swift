import Expectations
import MigrationEngine
import MigrationSystem
import MigrationWire
import Testing

@testable import peer

@Suite struct DeviceEntryTests {
  private func answer(_ lines: [String], among count: Int = 3) -> (Result<Int, Failure>, said: [String]) {
    var lines = lines[...]
    var said: [String] = []
    let result = Result { () throws(Failure) in
      try DeviceEntry.answer(
        among: count, { lines.popFirst().map { .line(Array($0.utf8)) } ?? .endOfInput }, say: { said.append($0) })
    }
    return (result, said)
  }

  @Test func `devices are shown with numbers, and their names cannot control the terminal`() {
    let found = [
      DeviceAddress(name: "new-laptop", host: "192.0.2.7", port: 7, instance: 1),
      DeviceAddress(name: "a\n\u{1B}[2J", host: "fe80::1%eth0", port: 7, instance: 2),
      DeviceAddress(name: "", host: "::1", port: 7, instance: nil),
    ]
    expect(
      DeviceEntry.text(found),
      is: """
        Several devices are waiting:
          1  new-laptop (192.0.2.7)
          2  $'a\\n\\x1b[2J' (fe80::1%eth0)
          3  ::1

        """)
    expect(DeviceEntry.question(3), is: "Which one? [1-3] ")
  }

  @Test func `a number chooses a device`() throws {
    expect(try answer([" 3 "]).0.get(), is: 2)
    expect(try answer(["1"]).0.get(), is: 0)
  }

  @Test func `an invalid choice is asked again, three times`() throws {
    let slip = "Not a valid choice: type a number from 1 to 3."
    let (result, said) = answer(["0", "x", "2"])
    expect(try result.get(), is: 1)
    expect(said, is: [slip, slip])
    let (failed, told) = answer(["4", "-1", "", "1"])
    expect(failed, is: .failure(Failure(.usage, "no device was chosen", hint: "Choose one with --to.")))
    expect(told, is: [slip, slip, slip])
    expect(answer([]).0, is: failed)
  }

  @Test func `Ctrl-C ends the question`() {
    let result = Result { () throws(Failure) in
      try DeviceEntry.answer(among: 2, { .interrupted }, say: { _ in })
    }
    expect(result, is: .failure(Failure(.interrupted, "interrupted before a device was chosen")))
  }
}
