import MigrationSystem

/// The few functions of the C library that the command needs and that MigrationSystem lacks.
enum LocalSystem {
  /// Ends the program at once, with all its threads: no exit handler runs, so that none frees data
  /// that a thread still uses, such as OpenSSL's tables.
  static func exit(_ code: Int32) -> Never {
    CurrentProcess.flushOutput()
    CurrentProcess.exitNow(code)
  }
}
