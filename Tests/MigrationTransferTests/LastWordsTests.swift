import Expectations
import MigrationEngine
import Testing

@testable import MigrationTransfer

@Suite struct LastWordsTests {
  @Test func `a stop ends the last words of a failed stream, and no other work`() throws {
    let lastWords = LastWords()
    let (parting, gone) = (try ServedConnection(ConnectionID(1)), try ServedConnection(ConnectionID(2)))
    lastWords.during(gone) {}
    lastWords.during(parting) {
      expect(!parting.dismissal.isDismissed)
      lastWords.dismiss()
      expect(parting.dismissal.isDismissed)
    }
    expect(!gone.dismissal.isDismissed)
  }
}
