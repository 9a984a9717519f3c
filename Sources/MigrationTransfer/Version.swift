import MigrationTLS

/// The version of the program.
package enum Version {
  /// The day of the release, past or planned. Manual pages show it, so they do not depend on the
  /// day of the build.
  package static let date = "2026-11-28"

  /// The version as `--version` prints it, by Semantic Versioning.
  package static let current = "0.3.0"

  /// The version as the other device gets it.
  package static let software = "peer \(current)"

  /// The version of the OpenSSL that runs, and whether the processor helps it.
  package static var openSSL: String { "\(OpenSSL.version), AES \(OpenSSL.hasFastAES ? "in hardware" : "in software")" }
}
