import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// The transfers that a receiver knows.
@Suite struct IncomingTransfersTests {
  @Test func `a change of a transfer copies none of its lists, which a sender makes long`() {
    var transfers = IncomingTransfers()
    for number in 1...2 as ClosedRange<UInt8> {
      transfers.begin(TransferID(number), from: ReceiverScript.key(number))
    }
    transfers[of: 1]?.part.leftOutItems.unreadable.reserveCapacity(100)
    func place() -> Int? {
      transfers[of: 1].map {
        unsafe $0.part.leftOutItems.unreadable.withUnsafeBufferPointer {
          Int(bitPattern: $0.baseAddress)
        }
      }
    }
    let before = place()
    for number in 0..<100 as Range<UInt8> {
      transfers[of: 1]?.part.leftOutItems.unreadable.append([number])
    }
    expect(before != nil && place() == before)
    expect(
      transfers.map(\.identifier) == [1, 2]
        && transfers[of: 1]?.part.leftOutItems.unreadable.count == 100)
    // One that is not here does not come this way.
    transfers[of: 3]?.isMet = true
    expect(transfers.count == 2 && transfers[of: 3] == nil)
  }
}
