import Expectations
import MigrationArchive
import MigrationEngine
import MigrationWire
import Testing

@testable import MigrationTransfer

/// What several transfers at a time need of one destination.
@Suite struct ClaimsTests {
  private let claims = Claims()
  private let one = ReceivingTransfer(1)
  private let two = ReceivingTransfer(2)

  init() { claims.keep([1, 2]) }

  private func offer(_ name: String = "Documents") -> Offer {
    Offer(contents: .folders([Root(kind: .directory, name: Array(name.utf8))]), items: 3, bytes: 90, allocated: 100)
  }

  /// Claims, and returns what the others still bring.
  private func claim(
    _ offer: Offer, _ transfer: ReceivingTransfer, hasBegun: Bool = false, _ existing: Existing = .refuse
  ) throws -> Tally {
    try claims.claim(offer, of: transfer, hasBegun: hasBegun, existing) { $0 }
  }

  @Test func `what one transfer still brings is no room for another one, and for itself it is`() throws {
    expect(try claim(offer(), one), is: Tally())
    expect(try claim(offer("Music"), two), is: Tally(items: 3, bytes: 100))
    expect(try claim(offer(), one, hasBegun: true), is: Tally(items: 3, bytes: 100))
    claims.keep([1])
    expect(claims.room(besides: one), is: Tally())
    // A worker that ends late claims nothing for a transfer whose sender is not here any more.
    expect(try claim(offer("Videos"), two), is: Tally(items: 3, bytes: 100))
    expect(claims.room(besides: one), is: Tally())
  }

  @Test func `what is at the destination, or staged, is not brought any more`() throws {
    _ = try claim(offer(), one)
    claims.release(Tally(items: 2, bytes: 60), of: one)
    expect(claims.room(besides: two), is: Tally(items: 1, bytes: 40))
    claims.release(1)
    expect(claims.room(besides: two), is: Tally())
    claims.release(2)
    expect(claims.room(besides: one), is: Tally())
  }

  @Test func `one that is judged to have no room claims none`() {
    #expect(throws: Failure.self) {
      try claims.claim(offer(), of: one, hasBegun: false, .refuse) { (_) throws(Failure) in
        throw Failure(.noSpace, "no room")
      }
    }
    expect(claims.room(besides: two), is: Tally())
  }

  @Test func `one that has no room only beside others waits, and one that has none at all fails`() {
    func claim(_ transfer: ReceivingTransfer, room: UInt64) -> (any Error)? {
      do {
        try claims.claim(offer("Music"), of: transfer, hasBegun: false, .refuse) { (others) throws(Failure) in
          if others.bytes + 100 > room { throw Failure(.noSpace, "no room") }
        }
        return nil
      } catch {
        return error
      }
    }
    #expect(throws: Never.self) { try self.claim(offer(), one) }
    expect((claim(two, room: 199) as? Failure)?.code, is: .claimed)
    expect((claim(two, room: 99) as? Failure)?.code, is: .noSpace)
    expect(claim(two, room: 200) == nil)
  }

  @Test func `a name that arrives is claimed, where names are refused and nothing is staged yet`() throws {
    _ = try claim(offer(), one)
    let fault = #expect(throws: Failure.self) { try claim(offer(), two) }
    expect(fault?.code == .claimed && fault?.name == Array("Documents".utf8))
    expect(try claim(offer(), two, .merge), is: Tally(items: 3, bytes: 100))
    expect(try claim(offer(), two, hasBegun: true), is: Tally(items: 3, bytes: 100))
    claims.keep([2])
    expect(try claim(offer(), two), is: Tally())
  }
}
