import Glibc
import MigrationSystem

/// The few things that the command needs of the C library and that MigrationSystem does not offer.
enum LocalSystem {
  /// The words behind the program's name, in whatever encoding they were typed.
  static var arguments: [[UInt8]] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      unsafe CommandLine.unsafeArgv[index].map { word in
        unsafe Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
      }
    }
  }

  /// Ends the program at once, whatever its threads do: no exit handler runs, so that none takes from under a thread what it
  /// still uses, OpenSSL's tables say.
  static func exit(_ code: Int32) -> Never {
    CurrentProcess.flushOutput()
    CurrentProcess.exitNow(code)
  }
}
