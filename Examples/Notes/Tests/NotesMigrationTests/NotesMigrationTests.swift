import AppMigrationKit
import NotesKit
import Testing

@testable import NotesMigration

struct NotesMigrationTests {
  @Test func `all data arrives`() async throws {
    try await SampleDevice.with { device, tester in
      let export = try await tester.exportController.exportResources()
      let importer = try await tester.importController
      let progress = Progress(totalUnitCount: 100)
      try await importer.importResources(from: export.extractedResourcesURL, progress: progress)

      let arrival = try Arrival(importer)
      #expect(try NotesDatabase(contentsOf: arrival.files.database) == SampleDevice.database)
      #expect(try Data(contentsOf: arrival.files.media.appending(path: "picture.png")) == SampleDevice.picture)
      #expect(try String(contentsOf: arrival.files.drafts.appending(path: "1.txt"), encoding: .utf8) == "Dear all,")
      #expect(try arrival.settings.read() == Settings(sortOrder: "newest"))
      #expect(try SettingsFile(of: arrival.files).read() == SharedSettings(signature: "Kim"))
      #expect(progress.fractionCompleted == 1)
    }
  }

  @Test func `an unused app exports no data, and the importer accepts that`() async throws {
    try await SampleDevice.with { device, tester in
      for item in [device.container, device.group] { try FileManager.default.removeItem(at: item) }
      let export = try await tester.exportController.exportResources()
      #expect(export.exportProperties.uncompressedBytes == 0)
      let importer = try await tester.importController
      try await importer.importResources(from: export.extractedResourcesURL)
      #expect(!FileManager.default.fileExists(atPath: try Arrival(importer).files.database.path))
    }
  }

  @Test func `the exporter leaves out media if the other device asks for none`() async throws {
    try await SampleDevice.with { device, tester in
      let request = MigrationRequestWithOptions<NotesMigration.OptionsType>(
        destinationPlatform: .linux, options: [.media: Data("none".utf8)])
      let export = try await tester.exportController.exportResources(request: request)
      let names = try FileManager.default.items(in: export.extractedResourcesURL).map(\.lastPathComponent)
      #expect(names == ["group", "notes.db", "settings.json"])
    }
  }

  @Test func `the estimate is close and not too low`() async throws {
    try await SampleDevice.with { device, tester in
      let figures = try await tester.exportController.exportResources().exportProperties
      #expect(figures.sizeEstimate >= figures.uncompressedBytes)
      #expect(figures.sizeEstimate < figures.uncompressedBytes * 5 / 4)
    }
  }

  @Test func `the exporter leaves out settings that this edition does not know`() async throws {
    try await SampleDevice.with { device, tester in
      let all = ["sortOrder": "oldest", "windowWidth": "80"]
      try PropertyListEncoder().encode(all).write(to: device.settings.url)
      let export = try await tester.exportController.exportResources()
      let json = try String(contentsOf: export.extractedResourcesURL.appending(path: "settings.json"), encoding: .utf8)
      #expect(json == #"{"sortOrder":"oldest"}"#)
    }
  }
}
