// swift-tools-version: 6.2
import PackageDescription

// Extensions as their authors write them: with AppMigrationKit as the only import, and with the settings that a package has
// by default.
let kit: Target.Dependency = .product(name: "AppMigrationKit", package: "peer")

let package = Package(
  name: "DependentPackage",
  dependencies: [.package(name: "peer", path: "../..")],
  targets: [
    .executableTarget(name: "NotesMigration", dependencies: [kit], swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(name: "PhotosMigration", dependencies: [kit], swiftSettings: [.swiftLanguageMode(.v5)]),
    // What an app's own target has in new projects.
    .target(
      name: "MainActorMigrations", dependencies: [kit],
      swiftSettings: [
        .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]),
    .testTarget(
      name: "DependentTests", dependencies: ["NotesMigration", "PhotosMigration", "MainActorMigrations", kit]),
    // In Swift 5, as their authors have them.
    .testTarget(
      name: "AppleFormTests", dependencies: ["NotesMigration", kit], swiftSettings: [.swiftLanguageMode(.v5)]),
  ]
)
