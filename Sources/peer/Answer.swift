import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// The answer of a command that does one thing at once: a text, or why not.
enum Answer {
  /// Writes the answer, and returns the program's exit code: that of a failure too where the answer could not be written. A
  /// reader that wants no more of it, as head(1), is no failure.
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

  /// That what was to be read could not be written.
  static let unwritten = TransferFailure(
    .failed, "standard output could not be written", hint: "See whether the disk that it goes to is full.")
}
