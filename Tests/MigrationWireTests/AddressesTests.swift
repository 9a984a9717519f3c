import Expectations
import Testing

@testable import MigrationWire

@Suite struct AddressesTests {
  private static func address(_ address: [UInt8], _ port: UInt16 = 47_470) -> InternetAddress {
    InternetAddress(address: address, port: port)
  }

  @Test(
    arguments: [
      // Those of one device, also in a home's network.
      ([192, 0, 2, 7], 47_470, true), ([10, 0, 0, 7], 1024, true), ([169, 1, 2, 3], 47_470, true),
      ([223, 255, 255, 255], 47_470, true), ([0x20, 1, 0xd, 0xb8] + zeros(11) + [7], 47_470, true),
      ([0xFD] + zeros(14) + [1], 47_470, true), ([0, 0x64, 0xFF, 0x9A] + zeros(11) + [7], 47_470, true),
      // A system's own services, and none.
      ([192, 0, 2, 7], 1023, false), ([192, 0, 2, 7], 0, false),
      // This network, loopback, the link, groups, broadcast.
      ([0, 0, 0, 0], 47_470, false), ([0, 1, 2, 3], 47_470, false), ([127, 0, 0, 1], 47_470, false),
      ([127, 9, 9, 9], 47_470, false), ([169, 254, 1, 1], 47_470, false), ([224, 0, 0, 251], 47_470, false),
      ([240, 0, 0, 1], 47_470, false), ([255, 255, 255, 255], 47_470, false),
      (zeros(16), 47_470, false), (zeros(15) + [1], 47_470, false), ([0xFE, 0x80] + zeros(13) + [1], 47_470, false),
      ([0xFE, 0xBF] + zeros(13) + [1], 47_470, false), ([0xFF, 2] + zeros(13) + [1], 47_470, false),
      // IPv4 addresses in other forms: loopback could be one of them.
      (zeros(10) + [0xFF, 0xFF, 127, 0, 0, 1], 47_470, false), (zeros(12) + [127, 0, 0, 1], 47_470, false),
      ([0, 0x64, 0xFF, 0x9B] + zeros(8) + [127, 0, 0, 1], 47_470, false),
    ] as [([UInt8], UInt16, Bool)])
  func `an address is dialled only if it may be that of one device`(address: [UInt8], port: UInt16, isDialable: Bool) {
    expect(Self.address(address, port).isDialable, is: isDialable)
    expect(Addresses(listening: [Self.address(address, port)], dialling: []).dialable.count, is: (isDialable ? 1 : 0))
  }

  private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  @Test func `a message has the first addresses of each kind, and none twice`() {
    let many = (0..<20).map { Self.address([10, 0, 0, UInt8($0)]) }
    let full = Addresses(listening: many, dialling: many + [Self.address([192, 0, 2, 7])])
    expect(full.listening == Array(many.prefix(15)) && full.dialling == [Self.address([192, 0, 2, 7])])
    let other = (0..<20).map { Self.address([10, 0, 1, UInt8($0)]) }
    let both = Addresses(listening: many + many, dialling: other + other)
    expect(both.listening == Array(many.prefix(8)) && both.dialling == Array(other.prefix(8)))
    expect(both.dialable, is: both.listening + both.dialling)
  }

  @Test func `the other end may send sixteen of them in a session`() throws {
    var talk = Talk()
    try talk.meet()
    for _ in 0..<16 {
      expect(try talk.toSender(.addresses(Sample.addresses)))
      expect(try talk.toReceiver(.addresses(Sample.addresses)))
    }
    #expect(throws: Violation.self) { try talk.toSender(.addresses(Sample.addresses)) }
    #expect(throws: Violation.self) { try talk.toReceiver(.addresses(Sample.addresses)) }
  }
}
