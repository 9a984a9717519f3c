import Testing

@testable import MigrationHost

@Suite struct ContainerAccessTests {
  @Test func `only the containing app's own identifier, alone, opens the container`() {
    #expect(ContainerAccess.isGranted(["org.example.notes"], to: "org.example.notes"))
    #expect(!ContainerAccess.isGranted(nil, to: "org.example.notes"))
    #expect(!ContainerAccess.isGranted([], to: "org.example.notes"))
    #expect(!ContainerAccess.isGranted(["org.example.other"], to: "org.example.notes"))
    #expect(!ContainerAccess.isGranted(["org.example.notes", "org.example.notes"], to: "org.example.notes"))
    #expect(!ContainerAccess.isGranted(["org.example.*"], to: "org.example.notes"))
  }
}
