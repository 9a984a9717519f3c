import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// The answer of a command that does one thing at once: a text or a failure.
enum Answer {
  /// Writes the answer, and returns the program's exit code. An answer that could not be written is
  /// a failure too, except where the reader wants no more of it, as head(1).
  static func give(json: Bool, _ body: () throws(TransferFailure) -> Rendering) -> Int32 {
    let (text, code): (Rendering, Int32)
    do {
      (text, code) = (try body(), ExitCode.done)
    } catch {
      var report: any Report = json ? JSONReport() : HumanReport(.sender, on: .log)
      (text, code) = (report.fail(error), ExitCode.of(error))
    }
    StandardStream.error.write(text.standardError)
    if StandardStream.output.write(text.standardOutput) || StandardStream.output.hasLostReader { return code }
    StandardStream.error.write(unwritten.text)
    return code == ExitCode.done ? ExitCode.of(unwritten) : code
  }

  /// The failure of a command whose output could not be written.
  static let unwritten = TransferFailure(
    .failed, "standard output could not be written", hint: "Check whether the disk that it is written to is full.")
}
