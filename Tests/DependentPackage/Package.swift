// swift-tools-version: 6.2
import PackageDescription

// Extensions as authors write them: with AppMigrationKit as the only import, and with a package's
// default settings.
let kit: Target.Dependency = .product(name: "AppMigrationKit", package: "peer")

// The modules that belong to a Mac's system.
let credentials: [Target.Dependency] = ["Security", "AuthenticationServices"].map {
  .product(name: $0, package: "peer", condition: .when(platforms: [.linux]))
}

let package = Package(
  name: "DependentPackage",
  dependencies: [.package(name: "peer", path: "../..")],
  targets: [
    .executableTarget(name: "NotesMigration", dependencies: [kit], swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(name: "PhotosMigration", dependencies: [kit], swiftSettings: [.swiftLanguageMode(.v5)]),
    // The settings of an app's own target in new projects.
    .target(
      name: "MainActorMigrations", dependencies: [kit],
      swiftSettings: [
        .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]),
    // An app's sources that keep secrets, in three targets with the same sources.
    .target(name: "ClipSharing", dependencies: credentials, swiftSettings: [.swiftLanguageMode(.v6)]),
    .target(name: "ClipSharing5", dependencies: credentials, swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "ClipSharingMain", dependencies: credentials,
      swiftSettings: [
        .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]),
    .testTarget(
      name: "DependentTests",
      dependencies: [
        "NotesMigration", "PhotosMigration", "MainActorMigrations", "ClipSharing", "ClipSharing5", "ClipSharingMain",
        kit,
      ]),
    // In Swift 5, like their authors' targets.
    .testTarget(
      name: "AppleFormTests", dependencies: ["NotesMigration", kit], swiftSettings: [.swiftLanguageMode(.v5)]),
  ]
)
