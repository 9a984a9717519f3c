/// Which edition of the program this is.
package enum Version {
  /// The day on which it was released, or is going to be: manual pages show it, and are the same whenever they are made.
  package static let date = "2026-11-23"

  /// As `--version` prints it; numbered as Semantic Versioning says.
  package static let current = "0.2.0"

  /// As this program tells it to the other device.
  package static let software = "peer \(current)"
}
