import AppMigrationKit
import NotesKit
import Testing

struct GreetingTests {
  @Test func `a success is told once`() async throws {
    try await SampleDevice.with { device, tester in
      #expect(Greeting.afterMigration() == nil)
      try await tester.importController.registerImportCompletion(with: .success)
      #expect(Greeting.afterMigration()?.hasPrefix("Welcome back!") == true)
      #expect(Greeting.afterMigration() == nil)
    }
  }

  @Test func `a failure is told in the words of the error`() async throws {
    try await SampleDevice.with { device, tester in
      let error = NotesError.damagedDatabase(line: 3)
      try await tester.importController.registerImportCompletion(with: .failure(error))
      #expect(Greeting.afterMigration()?.hasSuffix(": Line 3 of the notes cannot be read.") == true)
    }
  }
}
