import MigrationSystem

extension ExtensionProcess {
  /// Whether it is stopped now, by a signal or by a debugger; false if that is unknown.
  var isStopped: Bool {
    guard end == nil, let number else { return false }
    // The kernel reports no size for it.
    guard let file = try? Descriptor.openThroughLinks(Array("/proc/\(number)/stat".utf8)) else { return false }
    return (try? file.readToEnd(limit: 4 << 10)).map(Self.isStopped) ?? false
  }

  /// Whether a line of /proc/PID/stat says so: the letter behind the name, which is in brackets and
  /// may contain any other characters.
  static func isStopped(_ line: [UInt8]) -> Bool {
    guard let bracket = line.lastIndex(of: UInt8(ascii: ")")) else { return false }
    let letter = line[(bracket + 1)...].first { $0 != UInt8(ascii: " ") }
    return letter == UInt8(ascii: "T") || letter == UInt8(ascii: "t")
  }
}
