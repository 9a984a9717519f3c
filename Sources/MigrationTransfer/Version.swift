/// The version of the program.
package enum Version {
  /// The day of the release, past or planned. Manual pages show it, so they do not depend on the
  /// day of the build.
  package static let date = "2026-11-23"

  /// The version as `--version` prints it, by Semantic Versioning.
  package static let current = "0.2.0"

  /// The version as the other device gets it.
  package static let software = "peer \(current)"
}
