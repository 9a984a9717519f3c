import Testing

/// The program of the suites. With it, SwiftPM looks for no tests of XCTest, for which each build
/// would have to write an index.
@main enum SuitesProgram {
  static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
