import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension Selection {
  /// More than any real file of patterns.
  private static let longestFile = 16 << 20

  /// Combines the options and the files that they name; an error in them is an invalid command
  /// line.
  init(_ options: SendOptions) throws(TransferFailure) {
    self.init()
    isWithoutCaches = options.isWithoutCaches
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
  ) throws(TransferFailure) -> [UInt8] {
    let text: [UInt8]
    do {
      text = try open().readToEnd(limit: longestFile)
    } catch {
      throw .usage(
        "--exclude-from: \(name) cannot be read: \(error.words)",
        hint: "name a file that has one pattern on each line, or '-' for standard input")
    }
    guard !text.contains(0) else {
      throw .usage("--exclude-from: \(name) is not plain text", hint: "save it as UTF-8, with one pattern on each line")
    }
    return text
  }
}
