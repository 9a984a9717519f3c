// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Notes",
  dependencies: [.package(name: "peer", path: "../..")],
  targets: [
    .target(
      name: "NotesKit",
      dependencies: [
        .product(name: "AppMigrationKit", package: "peer"),
        // On a Mac these two modules belong to the system.
        .product(name: "AuthenticationServices", package: "peer", condition: .when(platforms: [.linux])),
        .product(name: "Security", package: "peer", condition: .when(platforms: [.linux])),
      ]),
    .executableTarget(name: "NotesClip", dependencies: ["NotesKit"]),
    .executableTarget(name: "notes", dependencies: ["NotesKit"]),
    .executableTarget(name: "NotesMigration", dependencies: ["NotesKit"]),
    .testTarget(name: "NotesMigrationTests", dependencies: ["NotesKit", "NotesMigration"]),
  ],
  swiftLanguageModes: [.v6]
)
