import Glibc
import MigrationSystem

/// The few functions of the C library that the command needs and that MigrationSystem lacks.
enum LocalSystem {
  /// The words after the program's name, in any encoding.
  static var arguments: [[UInt8]] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      unsafe CommandLine.unsafeArgv[index].map { word in
        unsafe Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
      }
    }
  }

  /// Ends the program at once, with all its threads: no exit handler runs, so that none frees data
  /// that a thread still uses, such as OpenSSL's tables.
  static func exit(_ code: Int32) -> Never {
    CurrentProcess.flushOutput()
    CurrentProcess.exitNow(code)
  }
}
