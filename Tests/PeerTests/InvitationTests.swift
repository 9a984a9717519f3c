import Expectations
import MigrationEngine
import Testing

@testable import peer

@Suite struct InvitationTests {
  private func lines(_ listening: Listening, _ wanted: String = "PATH...", isVerbose: Bool = false) -> [String] {
    Invitation(listening, wanting: wanted, isVerbose: isVerbose).text.split(separator: "\n").map(String.init)
  }

  @Test func `the command to type is one line, and has a port unless it is the default`() {
    let command = "On the other device:  peer send PATH... --to"
    expect(lines(Listening(addresses: ["192.0.2.7", "10.0.0.1"], port: 47470)), is: ["\(command) 192.0.2.7"])
    expect(lines(Listening(addresses: ["192.0.2.7"], port: 5)), is: ["\(command) 192.0.2.7:5"])
    expect(lines(Listening(addresses: ["2001:db8::1"], port: 47470)), is: ["\(command) 2001:db8::1"])
    expect(lines(Listening(addresses: ["2001:db8::1"], port: 5)), is: ["\(command) [2001:db8::1]:5"])
    expect(
      lines(Listening(addresses: ["192.0.2.7"], port: 47470), "--app org.example.notes"),
      is: ["On the other device:  peer send --app org.example.notes --to 192.0.2.7"])
  }

  @Test func `other useful addresses are shown to a user who wants them`() {
    let listening = Listening(
      addresses: ["192.0.2.7", "10.0.0.1", "2001:db8::1", "::1"], shown: ["192.0.2.7", "10.0.0.1", "2001:db8::1"],
      port: 5)
    expect(
      lines(listening, isVerbose: true),
      is: [
        "On the other device:  peer send PATH... --to 192.0.2.7:5",
        "                  or  ... --to 10.0.0.1:5",
        "                  or  ... --to [2001:db8::1]:5",
      ])
  }

  @Test func `the shortest command is shown too if senders can find the device`() {
    let listening = Listening(addresses: ["192.0.2.7"], port: 47470, from: ["192.0.2.0/24"], isAnnounced: true)
    expect(
      lines(listening),
      is: [
        "On the other device:  peer send PATH... --to 192.0.2.7",
        "            or just:  peer send PATH...   (same network)",
        "Only from: 192.0.2.0/24",
      ])
  }
}
