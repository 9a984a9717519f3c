/// Which edition of the program this is.
package enum Version {
  /// As `--version` prints it; numbered as Semantic Versioning says.
  package static let current = "0.2.0"

  /// As this program tells it to the other device.
  package static let software = "peer \(current)"
}
