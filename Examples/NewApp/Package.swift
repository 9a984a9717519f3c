// swift-tools-version: 6.2
import PackageDescription

/// The folder with AppMigrationKit for Linux. On a machine where it is another one, set it once:
/// export PEER_PACKAGE=FOLDER
let peer = Context.environment["PEER_PACKAGE"] ?? "../.."

/// On Apple's platforms, AppMigrationKit belongs to the system.
let kit = Target.Dependency.product(
  name: "AppMigrationKit", package: "peer", condition: .when(platforms: [.linux]))

let package = Package(
  name: "NewApp",
  dependencies: [.package(name: "peer", path: peer)],
  targets: [
    .target(name: "NewAppData"),
    .executableTarget(
      name: "NewAppApp",
      dependencies: ["NewAppData", kit]),
    .executableTarget(
      name: "NewAppMigration",
      dependencies: ["NewAppData", kit]),
    .testTarget(
      name: "NewAppMigrationTests",
      dependencies: ["NewAppData", "NewAppMigration", kit]),
  ],
  swiftLanguageModes: [.v6]
)
