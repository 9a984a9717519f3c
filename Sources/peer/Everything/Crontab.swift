import MigrationSystem

/// The jobs of cron(8), which only its own program may read.
enum Crontab {
  private static let longest = 1 << 20

  /// Whether this user has any.
  static func isThere(_ program: [UInt8]) -> Bool {
    guard let jobs = try? list(program) else { return false }
    return jobs.split(separator: UInt8(ascii: "\n")).contains { $0.first != UInt8(ascii: "#") }
  }

  private static func list(_ program: [UInt8]) throws(SystemError) -> [UInt8] {
    var pipe = try Descriptor.pipe()
    let reading = pipe.takeReadEnd()
    let process = try start(String(decoding: program, as: UTF8.self), output: pipe.takeWriteEnd())
    let jobs = try reading.readToEnd(limit: longest)
    return try process.wait() == 0 ? jobs : []
  }

  private static func start(_ program: String, output: consuming Descriptor) throws(SystemError) -> UserProgram {
    let nothing = try Descriptor.open("/dev/null", .readOnly)
    return try UserProgram(program, ["-l"], input: nothing, output: output)
  }
}
