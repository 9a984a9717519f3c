import MigrationEngine
import Testing

@testable import MigrationTransfer

@Suite struct FarewellsTests {
  @Test func `a stop ends the farewell of a failed stream, and no other work`() throws {
    let farewells = Farewells()
    let (parting, gone) = (try ServedConnection(ConnectionID(1)), try ServedConnection(ConnectionID(2)))
    farewells.during(gone) {}
    farewells.during(parting) {
      #expect(!parting.dismissal.isDismissed)
      farewells.dismiss()
      #expect(parting.dismissal.isDismissed)
    }
    #expect(!gone.dismissal.isDismissed)
  }
}
