// swift-tools-version: 6.2
import Glibc
import PackageDescription

/// Whether this is the whole project. Authors of apps get a part of it, with this manifest (Scripts/install makes it): what
/// AppMigrationKit is made of, which needs no OpenSSL.
let isWhole = access("\(Context.packageDirectory)/Sources/peer", F_OK) == 0

/// The language that every Swift target is written in: existentials are spelled out, imports stay private.
let features: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// What every Swift target is compiled with. Warnings are errors here, but those of a later compiler shall not end the build
/// of an app.
let common: [SwiftSetting] = features + (isWhole ? [.treatAllWarnings(as: .error)] : [])

/// Product code also marks every unsafe construct; in tests that would be noise.
let product: [SwiftSetting] = common + [.strictMemorySafety()]

let package = Package(
  name: "peer",
  products: [
    .library(name: "AppMigrationKit", targets: ["AppMigrationKit"]),
    .library(name: "PeerTransfer", targets: ["PeerTransfer"]),
    .executable(name: "peer", targets: ["peer"]),
  ],
  targets: [
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .target(
      name: "CSystem",
      cSettings: isWhole ? [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)] : []),

    // What AppMigrationKit does before and after main.
    .target(
      name: "CAppMigrationKit",
      cSettings: isWhole ? [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)] : []),

    .target(name: "MigrationWire", swiftSettings: product),
    // What both ends decide: values over the wire's, which know no clock, no socket and no file.
    .target(name: "MigrationEngine", dependencies: ["MigrationWire"], swiftSettings: product),
    // Finding each other: values as well, which depend on nothing.
    .target(name: "MigrationDiscovery", swiftSettings: product),
    .target(name: "MigrationSystem", dependencies: ["CSystem"], swiftSettings: product),
    .target(
      name: "MigrationTLS", dependencies: ["COpenSSL", "MigrationSystem", "MigrationWire"],
      swiftSettings: product),
    .target(
      name: "MigrationArchive", dependencies: ["MigrationSystem", "MigrationWire"],
      swiftSettings: product),
    .target(
      name: "MigrationTransfer",
      dependencies: ["MigrationArchive", "MigrationEngine", "MigrationSystem", "MigrationTLS", "MigrationWire"],
      swiftSettings: product),
    // Announces receivers on the networks and looks for them: sockets and threads around MigrationDiscovery's values.
    .target(
      name: "MigrationFinding", dependencies: ["MigrationDiscovery", "MigrationSystem"], swiftSettings: product),
    .target(
      name: "MigrationHost", dependencies: ["MigrationArchive", "MigrationSystem", "MigrationWire"],
      swiftSettings: product),
    // Its nonisolated(nonsending) methods ask less of their callers than Apple's do: sources that were written for those
    // compile unchanged, in Swift 5 and 6 and with main-actor isolation by default (Tests/DependentPackage).
    .target(
      name: "AppMigrationKit",
      dependencies: ["CAppMigrationKit", "MigrationArchive", "MigrationHost", "MigrationSystem", "MigrationWire"],
      swiftSettings: product),
    // The transfer of folders for programs, and what the command has in common with it.
    .target(
      name: "PeerTransfer",
      dependencies: [
        "MigrationArchive", "MigrationDiscovery", "MigrationEngine", "MigrationFinding", "MigrationSystem",
        "MigrationTLS", "MigrationTransfer", "MigrationWire",
      ],
      swiftSettings: product),
    .executableTarget(
      name: "peer",
      dependencies: [
        "MigrationArchive", "MigrationDiscovery", "MigrationEngine", "MigrationFinding", "MigrationHost",
        "MigrationSystem", "MigrationTransfer", "MigrationWire", "PeerTransfer",
      ],
      swiftSettings: product),

    // What several suites need, without the modules' insides.
    .target(
      name: "TestSupport", dependencies: ["MigrationArchive", "MigrationSystem", "MigrationWire"],
      path: "Tests/TestSupport", swiftSettings: common),
    .testTarget(
      name: "MigrationWireTests", dependencies: ["MigrationWire", "TestSupport"], resources: [.copy("Vectors")],
      swiftSettings: common),
    .testTarget(
      name: "MigrationEngineTests", dependencies: ["MigrationEngine", "MigrationWire", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationDiscoveryTests", dependencies: ["MigrationDiscovery"], swiftSettings: common),
    .testTarget(
      name: "MigrationSystemTests", dependencies: ["MigrationSystem", "TestSupport"], swiftSettings: common),
    .testTarget(
      name: "MigrationFindingTests",
      dependencies: ["MigrationDiscovery", "MigrationFinding", "MigrationSystem", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationTLSTests", dependencies: ["COpenSSL", "MigrationTLS", "MigrationWire", "TestSupport"],
      resources: [.copy("Vectors")], swiftSettings: common),
    .testTarget(
      name: "MigrationArchiveTests",
      dependencies: ["MigrationArchive", "MigrationSystem", "MigrationWire", "TestSupport"], swiftSettings: common),
    .testTarget(
      name: "MigrationTransferTests",
      dependencies: [
        "COpenSSL", "MigrationArchive", "MigrationEngine", "MigrationSystem", "MigrationTLS", "MigrationTransfer",
        "MigrationWire", "TestSupport",
      ],
      swiftSettings: common),
    .testTarget(
      name: "MigrationHostTests",
      dependencies: [
        "MigrationArchive", "MigrationHost", "MigrationSystem", "MigrationWire", "TestAppExtension", "TestSupport",
      ],
      swiftSettings: common),
    .executableTarget(
      name: "ExtensionFixture", dependencies: ["AppMigrationKit"], path: "Tests/ExtensionFixture",
      swiftSettings: common),
    .testTarget(
      name: "AppMigrationKitTests",
      dependencies: [
        "AppMigrationKit", "ExtensionFixture", "MigrationArchive", "MigrationHost", "MigrationSystem", "MigrationWire",
        "TestSupport",
      ],
      swiftSettings: common),
    .executableTarget(
      name: "TestApp", dependencies: ["AppMigrationKit"], path: "Tests/TestApp", swiftSettings: common),
    .executableTarget(
      name: "TestAppExtension", dependencies: ["AppMigrationKit"], path: "Tests/TestAppExtension",
      swiftSettings: common),
    .target(
      name: "TransferSimulator",
      dependencies: [
        "MigrationArchive", "MigrationEngine", "MigrationSystem", "MigrationTransfer", "MigrationWire", "TestSupport",
      ],
      path: "Tests/TransferSimulator", swiftSettings: common),
    .executableTarget(
      name: "simulate", dependencies: ["TransferSimulator"], path: "Tests/simulate", swiftSettings: common),
    .testTarget(name: "SimulatorTests", dependencies: ["TransferSimulator"], swiftSettings: common),
    .testTarget(
      name: "PeerTransferTests",
      dependencies: ["MigrationEngine", "MigrationSystem", "MigrationWire", "PeerTransfer", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "PeerTests",
      dependencies: [
        "MigrationArchive", "MigrationEngine", "MigrationFinding", "MigrationHost", "MigrationSystem",
        "MigrationTransfer", "MigrationWire", "PeerTransfer", "TestSupport", "peer",
      ],
      swiftSettings: common),
  ],
  swiftLanguageModes: [.v6]
)

if !isWhole {
  let kit = "AppMigrationKit"
  var needed: Set = [kit]
  var count = 0
  while count < needed.count {
    count = needed.count
    for target in package.targets where needed.contains(target.name) {
      for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
    }
  }
  package.products.removeAll { $0.name != kit }
  package.targets.removeAll { !needed.contains($0.name) }
}
