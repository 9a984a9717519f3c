import Testing

@testable import AppMigrationKit

/// Which nobody can find, since it has no metadata before somebody says what `Content` is.
struct GenericImporting<Content: Sendable>: ResourcesImporting {
  func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
}

@Suite struct ExtensionDiscoveryTests {
  struct Nested: ResourcesImporting {
    func importResources(at url: URL, request: ResourcesImportRequest) async throws {}
  }

  @Test func `all extension types of the program are found, once each`() {
    let types = ExtensionDiscovery.types().map { ObjectIdentifier($0) }
    let expected: [any AppMigrationExtension.Type] = [
      ScriptedExtension.self, OnlyImporting.self, OnlyExporting.self, Nested.self,
    ]
    for type in expected { #expect(types.count { $0 == ObjectIdentifier(type) } == 1, "\(type)") }
    #expect(!types.contains(ObjectIdentifier(GenericImporting<Int>.self)))
  }

  @Test func `only where there is one type it is clear which is meant`() throws {
    #expect(try ExtensionDiscovery.onlyType(of: [Nested.self]) == Nested.self)
    #expect(throws: CocoaError.self) { try ExtensionDiscovery.onlyType(of: []) }
    let error = #expect(throws: CocoaError.self) {
      try ExtensionDiscovery.onlyType(of: [Nested.self, OnlyImporting.self])
    }
    #expect(error?.localizedDescription.contains("OnlyImporting") == true)
  }
}
