import AppMigrationKit
import NotesKit
import Testing

struct GreetingTests {
  @Test func `the app greets once after a success`() async throws {
    try await SampleDevice.with { device, tester in
      #expect(Greeting.afterMigration() == nil)
      try await tester.importController.registerImportCompletion(with: .success)
      #expect(Greeting.afterMigration()?.hasPrefix("Welcome back!") == true)
      #expect(Greeting.afterMigration() == nil)
    }
  }

  @Test func `the app shows the error's text after a failure`() async throws {
    try await SampleDevice.with { device, tester in
      let error = NotesError.damagedDatabase(line: 3)
      try await tester.importController.registerImportCompletion(with: .failure(error))
      #expect(Greeting.afterMigration()?.hasSuffix(": Line 3 of the notes cannot be read.") == true)
    }
  }
}
