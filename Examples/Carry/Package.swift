// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Carry",
  dependencies: [.package(name: "peer", path: "../..")],
  targets: [
    .executableTarget(name: "carry", dependencies: [.product(name: "PeerTransfer", package: "peer")])
  ],
  swiftLanguageModes: [.v6]
)
