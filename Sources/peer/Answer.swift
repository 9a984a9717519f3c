import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// The answer of a command that does one thing at once: a text, or why not.
enum Answer {
  /// Writes the answer, and returns the program's exit code.
  static func give(json: Bool, _ body: () throws(TransferFailure) -> Rendering) -> Int32 {
    let (text, code): (Rendering, Int32)
    do {
      (text, code) = (try body(), ExitCode.done)
    } catch {
      var report: any Report = json ? JSONReport() : HumanReport(.sender, on: .log)
      (text, code) = (report.fail(error), ExitCode.of(error))
    }
    StandardStream.error.write(text.standardError)
    StandardStream.output.write(text.standardOutput)
    return code
  }
}
