// swift-tools-version: 6.2
import PackageDescription

#if canImport(Glibc)
  import Glibc
#else
  // SwiftPM reads this on a Mac, too, where an app uses no product of it.
  import Darwin
#endif

/// Whether this is the whole project. Authors of apps get a part of the project with this manifest
/// (Scripts/install makes it): AppMigrationKit and its dependencies, which need no OpenSSL.
let isWhole = access("\(Context.packageDirectory)/Sources/peer", F_OK) == 0

/// The language settings of every Swift target: existentials are spelled out, imports are private.
let features: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// For what Lab/fuzz builds its programs: libFuzzer, or a replay with the usual modules.
let fuzzing = isWhole ? Context.environment["PEER_FUZZ"] : nil

/// Whether warnings are errors: with the usual compiler. Those of another one must not break a
/// build, and the settings of libFuzzer cause some.
#if compiler(>=6.3)
  let isStrict = isWhole && fuzzing != "libFuzzer"
#else
  let isStrict = false
#endif

/// The settings of every Swift target.
let common: [SwiftSetting] = features + (isStrict ? [.treatAllWarnings(as: .error)] : [])

/// The settings of the project's own C. The checked forms of the C library's functions are for C
/// alone: of those of glibc 2.42 and later Swift sees two of each.
let strictC: [CSetting] =
  isWhole
  ? [
    .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error),
    .define("_FORTIFY_SOURCE", to: "3", .when(configuration: .release)),
  ]
  : []

/// Product code must also mark every unsafe construct; in tests that would be noise.
let product: [SwiftSetting] = common + [.strictMemorySafety()]

/// These calls of the project's own objects lead to CWorld, in the programs of Tests/World.
let worldly = """
  pthread_create pthread_join pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_cond_wait
  pthread_cond_timedwait pthread_cond_signal pthread_cond_broadcast sched_yield clock_gettime poll epoll_create1
  epoll_ctl epoll_wait sysconf getpid getrandom eventfd eventfd_read eventfd_write timerfd_create timerfd_settime
  signalfd read pipe2 splice socket bind listen connect accept4 getsockname getpeername setsockopt getsockopt ioctl
  send recv shutdown getifaddrs close flock fsync fdatasync syncfs fstat fstatat statx fstatfs fstatvfs ftruncate
  pwrite write copy_file_range fallocate fchmod fchown futimens fsetxattr fremovexattr mkdirat unlinkat symlinkat linkat renameat2
  fchmodat fchownat utimensat SSL_new SSL_write_ex SSL_read_ex
  """.split(whereSeparator: \.isWhitespace).flatMap { ["-Xlinker", "--wrap=\($0)"] }

let package = Package(
  name: "peer",
  products: [
    .library(name: "AppMigrationKit", targets: ["AppMigrationKit"]),
    .library(name: "AuthenticationServices", targets: ["AuthenticationServices"]),
    .library(name: "Security", targets: ["Security"]),
    .library(name: "PeerTransfer", targets: ["PeerTransfer"]),
    .executable(name: "peer", targets: ["peer"]),
  ],
  targets: [
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .target(
      name: "CSystem",
      cSettings: strictC),

    // AppMigrationKit's code before and after main.
    .target(
      name: "CAppMigrationKit",
      cSettings: strictC),
    // The connection to the broker of credentials, which no process that an app starts inherits.
    .target(
      name: "CCredentials",
      cSettings: strictC),

    .target(name: "MigrationWire", swiftSettings: product),
    // The decisions of both ends: values on top of the wire's, without clock, socket or file.
    .target(name: "MigrationEngine", dependencies: ["MigrationWire"], swiftSettings: product),
    // The programs that are built for debugging have the C library's mutex: Tests/World decides who gets it.
    .target(
      name: "MigrationSystem", dependencies: ["CSystem"],
      swiftSettings: product + (isWhole ? [.define("PEER_PTHREAD_MUTEX", .when(configuration: .debug))] : [])),
    // The page that a user's own browser shows: the requests as values, the gate, the server.
    .target(
      name: "MigrationPage", dependencies: ["MigrationSystem"], exclude: ["Page"], swiftSettings: product),
    // Announces receivers on the networks and looks for them: values, in a folder of their own, and
    // sockets and threads around them.
    .target(name: "MigrationDiscovery", dependencies: ["MigrationSystem"], swiftSettings: product),
    // A relay between two devices: no connection of TLS, and nothing of a transfer.
    .target(
      name: "MigrationRelay", dependencies: ["MigrationSystem", "MigrationTLS", "MigrationWire"],
      swiftSettings: product),
    .target(
      name: "MigrationTLS", dependencies: ["COpenSSL", "MigrationSystem", "MigrationWire"],
      swiftSettings: product),
    .target(
      name: "MigrationArchive", dependencies: ["MigrationSystem", "MigrationWire"],
      swiftSettings: product),
    // What a home and the apps that people have contain, and which of it moves.
    .target(
      name: "MigrationApps", dependencies: ["MigrationArchive", "MigrationSystem", "MigrationWire"],
      exclude: ["Descriptions"], swiftSettings: product),
    .target(
      name: "MigrationTransfer",
      dependencies: [
        "MigrationArchive", "MigrationDiscovery", "MigrationEngine", "MigrationSystem", "MigrationTLS", "MigrationWire",
      ],
      swiftSettings: product),
    .target(
      name: "MigrationHost",
      dependencies: ["MigrationArchive", "MigrationSystem", "MigrationWire"],
      swiftSettings: product),
    // The requests for credentials that apps may make, and the rules for the answers. No
    // cryptography: apps link this.
    .target(
      name: "MigrationCredentials",
      dependencies: ["CCredentials", "MigrationSystem", "MigrationWire"], swiftSettings: product),
    // The sealed store of credentials, and the broker that has the key.
    .target(
      name: "MigrationVault",
      dependencies: [
        "MigrationArchive", "MigrationCredentials", "MigrationHost", "MigrationSystem", "MigrationTLS", "MigrationWire",
      ],
      swiftSettings: product),
    // Its nonisolated(nonsending) methods demand less of their callers than Apple's do. Sources
    // written for Apple's methods compile unchanged, in Swift 5 and 6 and with main-actor isolation
    // by default (Tests/DependentPackage).
    .target(
      name: "AppMigrationKit",
      dependencies: [
        "CAppMigrationKit", "MigrationArchive", "MigrationCredentials", "MigrationHost",
        "MigrationSystem", "MigrationWire",
      ],
      swiftSettings: product),
    // Apple's API for secrets, as far as an app's keychain helper uses it.
    .target(name: "Security", dependencies: ["MigrationCredentials", "MigrationSystem"], swiftSettings: product),
    // Apple's API for the state of a user's sign-in.
    .target(
      name: "AuthenticationServices", dependencies: ["MigrationCredentials", "MigrationSystem"],
      swiftSettings: product),
    // The transfer of folders for programs, and the code that the command shares with it.
    .target(
      name: "PeerTransfer",
      dependencies: [
        "MigrationArchive", "MigrationDiscovery", "MigrationEngine", "MigrationSystem",
        "MigrationTransfer", "MigrationWire",
      ],
      swiftSettings: product),
    .executableTarget(
      name: "peer",
      dependencies: [
        "MigrationApps", "MigrationArchive", "MigrationCredentials", "MigrationDiscovery",
        "MigrationEngine", "MigrationHost", "MigrationPage", "MigrationRelay", "MigrationSystem", "MigrationTransfer",
        "MigrationVault", "MigrationWire", "PeerTransfer",
      ],
      swiftSettings: product),

    // Stands in the way from the suites to OpenSSL's scrypt.
    .target(name: "CStretchedCodes", path: "Tests/CStretchedCodes"),
    // What a test expects.
    .target(name: "Expectations", path: "Tests/Expectations", swiftSettings: common),
    // Code that several suites need, without the modules' internals.
    .target(
      name: "TestSupport", dependencies: ["MigrationArchive", "MigrationSystem", "MigrationWire"],
      path: "Tests/TestSupport", swiftSettings: common),
    .testTarget(
      name: "MigrationWireTests", dependencies: ["Expectations", "MigrationWire", "TestSupport"],
      resources: [.copy("Vectors")],
      swiftSettings: common),
    .testTarget(
      name: "MigrationEngineTests", dependencies: ["Expectations", "MigrationEngine", "MigrationWire", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationSystemTests", dependencies: ["Expectations", "MigrationSystem", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationPageTests", dependencies: ["Expectations", "MigrationPage", "MigrationSystem", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationDiscoveryTests",
      dependencies: ["Expectations", "MigrationDiscovery", "MigrationSystem", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationRelayTests", dependencies: ["Expectations", "MigrationRelay", "MigrationTLS", "MigrationWire"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationTLSTests",
      dependencies: ["Expectations", "COpenSSL", "MigrationSystem", "MigrationTLS", "MigrationWire", "TestSupport"],
      resources: [.copy("Vectors")], swiftSettings: common),
    .testTarget(
      name: "MigrationArchiveTests",
      dependencies: ["Expectations", "MigrationArchive", "MigrationSystem", "MigrationWire", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationAppsTests",
      dependencies: [
        "Expectations", "MigrationApps", "MigrationArchive", "MigrationSystem", "MigrationWire", "TestSupport",
      ],
      swiftSettings: common),
    .testTarget(
      name: "MigrationTransferTests",
      dependencies: [
        "Expectations", "COpenSSL", "CStretchedCodes", "MigrationArchive", "MigrationDiscovery", "MigrationEngine",
        "MigrationSystem", "MigrationTLS",
        "MigrationTransfer", "MigrationWire", "TestSupport",
      ],
      swiftSettings: common),
    .testTarget(
      name: "MigrationHostTests",
      dependencies: [
        "Expectations", "MigrationArchive", "MigrationHost", "MigrationSystem", "MigrationWire", "TestAppExtension",
        "TestSupport",
      ],
      swiftSettings: common),
    .testTarget(
      name: "MigrationCredentialsTests",
      dependencies: ["Expectations", "MigrationCredentials", "MigrationSystem", "MigrationWire", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "MigrationVaultTests",
      dependencies: [
        "Expectations", "MigrationCredentials", "MigrationHost", "MigrationSystem", "MigrationTLS",
        "MigrationVault", "MigrationWire", "TestSupport",
      ],
      swiftSettings: common),
    .testTarget(
      name: "SecurityTests",
      dependencies: [
        "Expectations", "AppMigrationKit", "AuthenticationServices", "MigrationCredentials", "MigrationSystem",
        "Security",
        "TestSupport",
      ],
      swiftSettings: common),
    .testTarget(
      name: "AppMigrationKitTests",
      dependencies: [
        "Expectations", "AppMigrationKit", "MigrationArchive", "MigrationHost", "MigrationSystem", "MigrationWire",
        "TestAppExtension",
        "TestSupport",
      ],
      swiftSettings: common),
    .executableTarget(
      name: "TestApp", dependencies: ["AppMigrationKit", "AuthenticationServices", "Security"], path: "Tests/TestApp",
      swiftSettings: common),
    .executableTarget(
      name: "TestAppExtension", dependencies: ["AppMigrationKit"], path: "Tests/TestAppExtension",
      swiftSettings: common),
    // The world in which both ends run as they are.
    .target(
      name: "CWorld", dependencies: ["COpenSSL"],
      path: "Tests/World/CWorld", cSettings: [.unsafeFlags(["-O2"])] + strictC),
    .executableTarget(
      name: "world",
      dependencies: [
        "CWorld", "MigrationArchive", "MigrationEngine", "MigrationRelay", "MigrationSystem", "MigrationTLS",
        "MigrationTransfer", "MigrationWire", "PeerTransfer", "TestSupport",
      ],
      path: "Tests/World/world", swiftSettings: common, linkerSettings: [.unsafeFlags(worldly)]),
    .executableTarget(
      name: "interleave",
      dependencies: [
        "CWorld", "MigrationArchive", "MigrationEngine", "MigrationSystem", "MigrationTLS", "MigrationTransfer",
        "MigrationWire", "TestSupport",
      ],
      path: "Tests/World/interleave", swiftSettings: common, linkerSettings: [.unsafeFlags(worldly)]),
    .testTarget(
      name: "PeerTransferTests",
      dependencies: [
        "Expectations", "MigrationEngine", "MigrationSystem", "MigrationWire", "PeerTransfer", "TestSupport",
      ],
      swiftSettings: common),
    .testTarget(
      name: "PeerTests",
      dependencies: [
        "Expectations", "MigrationApps", "MigrationArchive", "MigrationCredentials", "MigrationEngine", "MigrationHost",
        "MigrationPage", "MigrationSystem", "MigrationTransfer", "MigrationVault", "MigrationWire", "PeerTransfer",
        "TestSupport", "peer",
      ],
      swiftSettings: common),
  ],
  swiftLanguageModes: [.v6]
)

/// The wings of `Sources` and their modules: a reader who wants to send files needs only the first one.
let wings = [
  "Transfer": [
    "COpenSSL", "CSystem", "MigrationArchive", "MigrationDiscovery", "MigrationEngine", "MigrationRelay",
    "MigrationSystem", "MigrationTLS", "MigrationTransfer", "MigrationWire", "PeerTransfer",
  ],
  "Apps": [
    "AppMigrationKit", "AuthenticationServices", "CAppMigrationKit", "CCredentials", "MigrationCredentials",
    "MigrationHost", "MigrationVault", "Security",
  ],
  "Computer": ["MigrationApps", "MigrationPage"],
]
for (wing, modules) in wings {
  for target in package.targets where modules.contains(target.name) { target.path = "Sources/\(wing)/\(target.name)" }
}

// Lab/fuzz builds the programs that feed every reader with made-up bytes. They look inside the
// modules and have no Swift Testing, so that they are part of no other build. Tests/Fuzzing/Shared
// has links to the sources that they share with the suites.
if fuzzing != nil {
  package.targets += [
    .target(
      name: "FuzzDriver", dependencies: ["MigrationWire"], path: "Tests/Fuzzing/Driver", swiftSettings: common),
    .executableTarget(
      name: "fuzz-wire", dependencies: ["FuzzDriver", "MigrationWire"], path: "Tests/Fuzzing/Wire",
      swiftSettings: common),
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "COpenSSL", "FuzzDriver", "MigrationArchive", "MigrationCredentials",
        "MigrationDiscovery", "MigrationEngine", "MigrationHost", "MigrationPage", "MigrationSystem", "MigrationTLS",
        "MigrationTransfer", "MigrationVault", "MigrationWire", "TestSupport",
      ],
      path: "Tests/Fuzzing",
      exclude: ["Corpus", "Dictionaries", "Driver", "Wire", "make_corpus.py", "seeds.py"],
      sources: ["Targets", "Shared"],
      swiftSettings: common),
  ]
}

/// The targets that are built, with their dependencies; nil for all. Lab/sanitize names a few.
let chosen: Set<String>? =
  isWhole
  ? Context.environment["PEER_TARGETS"].map { Set($0.split(separator: " ").map(String.init)) }
  : ["AppMigrationKit", "AuthenticationServices", "Security"]

if let chosen {
  var needed = chosen
  var count = 0
  while count < needed.count {
    count = needed.count
    for target in package.targets where needed.contains(target.name) {
      for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
    }
  }
  package.products.removeAll { !chosen.contains($0.name) }
  package.targets.removeAll { !needed.contains($0.name) }
}
