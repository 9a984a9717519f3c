/// Which edition of the program this is.
enum Version {
  /// As `--version` prints it; numbered as Semantic Versioning says.
  static let current = "0.1.0"
}
