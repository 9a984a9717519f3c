import Expectations
import Testing

@testable import MigrationHost

@Suite struct ContainerAccessTests {
  @Test func `only the containing app's own identifier, alone, opens the container`() {
    expect(ExtensionPoint.grants(["org.example.notes"], accessTo: "org.example.notes"))
    expect(!ExtensionPoint.grants(nil, accessTo: "org.example.notes"))
    expect(!ExtensionPoint.grants([], accessTo: "org.example.notes"))
    expect(!ExtensionPoint.grants(["org.example.other"], accessTo: "org.example.notes"))
    expect(!ExtensionPoint.grants(["org.example.notes", "org.example.notes"], accessTo: "org.example.notes"))
    expect(!ExtensionPoint.grants(["org.example.*"], accessTo: "org.example.notes"))
  }
}
