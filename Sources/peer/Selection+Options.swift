import MigrationArchive
import MigrationSystem
import MigrationWire

extension Selection {
  /// More than any real file of patterns.
  private static let longestFile = 16 << 20

  /// Combines the options and the files that they name; an error in them is an invalid command
  /// line.
  init(_ options: SendOptions) throws(Failure) {
    self.init()
    isWithoutCaches = options.isWithoutCaches
    isOnOneFileSystem = options.isOnOneFileSystem
    for source in options.exclusions {
      switch source {
      case .pattern(let pattern): exclusions.append(pattern)
      case .file(let path):
        let name = VisibleText.quoted(path)
        exclusions.append(
          lines: try Self.lines(name) { () throws(SystemError) in try Descriptor.openThroughLinks(path) })
      case .standardInput:
        exclusions.append(
          lines: try Self.lines("standard input") { () throws(SystemError) in try Descriptor.standardInput() })
      }
    }
  }

  private static func lines(
    _ name: String, by open: () throws(SystemError) -> Descriptor
  ) throws(Failure) -> [UInt8] {
    let text = try Failure.wrapping(
      .usage, "--exclude-from: \(name) cannot be read",
      hint: "Name a file that has one pattern on each line, or '-' for standard input.",
      open().readToEnd(limit: longestFile))
    guard !text.contains(0) else {
      throw .usage(
        "--exclude-from: \(name) is not plain text", hint: "Save it as UTF-8, with one pattern on each line.")
    }
    return text
  }
}
