import Expectations
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import Testing

@testable import MigrationDiscovery
@testable import peer

@Suite struct DiscoverTests {
  private func parse(_ words: String...) throws(Failure) -> Command {
    try Command((["discover"] + words).map { Array($0.utf8) })
  }

  private func address(_ text: String) -> SocketAddress { SocketAddress(numeric: text, port: 47470)! }

  private var receivers: [NearbyDevice] {
    [
      NearbyDevice(label: "desk", instance: 0xBEEF, addresses: [address("192.0.2.7"), address("2001:db8::7")]),
      NearbyDevice(label: "evil\u{1B}[2J\n", instance: nil, addresses: [address("2001:db8::8")]),
    ]
  }

  @Test func `the search takes three seconds, or the given time`() throws {
    expect(try parse(), is: .discover(DiscoverOptions(time: 3, json: false)))
    expect(try parse("--for", "2m", "--json"), is: .discover(DiscoverOptions(time: 120, json: true)))
  }

  @Test func `the table has each device with its most useful address, and cannot control the terminal`() {
    expect(
      DiscoverOptions.table(receivers),
      is: Rendering(
        standardOutput: """
          NAME              ADDRESS
          desk              192.0.2.7:47470
          $'evil\\x1b[2J\\n'  [2001:db8::8]:47470

          """))
  }

  @Test func `without devices, standard error has a sentence and a hint`() {
    let rendering = DiscoverOptions.table([])
    expect(rendering.standardOutput.isEmpty)
    expect(
      rendering.standardError.hasPrefix("No waiting device found on this network.\npeer: hint: Run 'peer receive'"))
    expect(DiscoverOptions.lines([]), is: Rendering())
  }

  @Test func `a program gets all facts about a device on a line`() {
    expect(
      DiscoverOptions.lines(receivers),
      is: Rendering(
        standardOutput: #"""
          {"event":"receiver","label":"desk","addresses":["192.0.2.7","2001:db8::7"],"port":47470,"instance":"000000000000beef"}
          {"event":"receiver","label":"evil\u001b[2J\n","addresses":["2001:db8::8"],"port":47470,"instance":null}

          """#))
  }
}
