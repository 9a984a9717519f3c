import Expectations
import Testing

@testable import AppMigrationKit

/// An extension type that cannot be found, since it has no metadata before `Content` is chosen.
struct GenericImporting<Content: Sendable>: ResourcesImporting {
  func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
}

@Suite struct ExtensionDiscoveryTests {
  struct Nested: ResourcesImporting {
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
  }

  @Test func `the tester finds each extension type of the program once`() {
    let types = TesterConfiguration.extensionTypes().map { ObjectIdentifier($0) }
    let expected: [any AppMigrationExtension.Type] = [
      ScriptedExtension.self, OnlyImporting.self, OnlyExporting.self, Nested.self,
    ]
    for type in expected { expect(types.count { $0 == ObjectIdentifier(type) }, is: 1, "\(type)") }
    expect(!types.contains(ObjectIdentifier(GenericImporting<Int>.self)))
  }

  @Test func `a tester needs no name only if the program has one type`() throws {
    expect(try TesterConfiguration.onlyExtensionType(of: [Nested.self]) == Nested.self)
    #expect(throws: CocoaError.self) { try TesterConfiguration.onlyExtensionType(of: []) }
    let error = #expect(throws: CocoaError.self) {
      try TesterConfiguration.onlyExtensionType(of: [Nested.self, OnlyImporting.self])
    }
    expect(error?.localizedDescription.contains("OnlyImporting"), is: true)
  }
}
