import Expectations
import MigrationArchive
import MigrationEngine
import MigrationWire
import Testing

@testable import MigrationTransfer

/// What several transfers at a time need of one destination.
@Suite struct ReservedRoomTests {
  private let reservedRoom = ReservedRoom()
  private let one = IncomingTransferContext(1)
  private let two = IncomingTransferContext(2)

  init() { reservedRoom.keep([1, 2]) }

  private func offer(_ name: String = "Documents") -> Offer {
    Offer(contents: .folders([Root(kind: .directory, name: Array(name.utf8))]), items: 3, bytes: 90, allocated: 100)
  }

  /// Reserves, and returns what the others still bring.
  private func reserve(
    _ offer: Offer, _ transfer: IncomingTransferContext, hasBegun: Bool = false, _ existing: Existing = .refuse
  ) throws -> Tally {
    try reservedRoom.reserve(offer, of: transfer, hasBegun: hasBegun, existing) { $0 }
  }

  @Test func `what one transfer still brings is no room for another one, and for itself it is`() throws {
    expect(try reserve(offer(), one), is: Tally())
    expect(try reserve(offer("Music"), two), is: Tally(items: 3, bytes: 100))
    expect(try reserve(offer(), one, hasBegun: true), is: Tally(items: 3, bytes: 100))
    reservedRoom.keep([1])
    expect(reservedRoom.room(besides: one), is: Tally())
    // A worker that ends late reserves nothing for a transfer whose sender is not here any more.
    expect(try reserve(offer("Videos"), two), is: Tally(items: 3, bytes: 100))
    expect(reservedRoom.room(besides: one), is: Tally())
  }

  @Test func `what is at the destination, or staged, is not brought any more`() throws {
    _ = try reserve(offer(), one)
    reservedRoom.release(Tally(items: 2, bytes: 60), of: one)
    expect(reservedRoom.room(besides: two), is: Tally(items: 1, bytes: 40))
    reservedRoom.release(1)
    expect(reservedRoom.room(besides: two), is: Tally())
    reservedRoom.release(2)
    expect(reservedRoom.room(besides: one), is: Tally())
  }

  @Test func `one that is judged to have no room reserves none`() {
    #expect(throws: Failure.self) {
      try reservedRoom.reserve(offer(), of: one, hasBegun: false, .refuse) { (_) throws(Failure) in
        throw Failure(.noSpace, "no room")
      }
    }
    expect(reservedRoom.room(besides: two), is: Tally())
  }

  @Test func `one that has no room only beside others waits, and one that has none at all fails`() {
    func reserve(_ transfer: IncomingTransferContext, room: UInt64) -> (any Error)? {
      do {
        try reservedRoom.reserve(offer("Music"), of: transfer, hasBegun: false, .refuse) { (others) throws(Failure) in
          if others.bytes + 100 > room { throw Failure(.noSpace, "no room") }
        }
        return nil
      } catch {
        return error
      }
    }
    #expect(throws: Never.self) { try self.reserve(offer(), one) }
    expect((reserve(two, room: 199) as? Failure)?.code, is: .reserved)
    expect((reserve(two, room: 99) as? Failure)?.code, is: .noSpace)
    expect(reserve(two, room: 200) == nil)
  }

  @Test func `a name that arrives is reserved, where names are refused and nothing is staged yet`() throws {
    _ = try reserve(offer(), one)
    let fault = #expect(throws: Failure.self) { try reserve(offer(), two) }
    expect(fault?.code == .reserved && fault?.name == Array("Documents".utf8))
    expect(try reserve(offer(), two, .merge), is: Tally(items: 3, bytes: 100))
    expect(try reserve(offer(), two, hasBegun: true), is: Tally(items: 3, bytes: 100))
    reservedRoom.keep([2])
    expect(try reserve(offer(), two), is: Tally())
  }
}
