import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The program.
@main enum Peer {
  static func main() {
    // A transfer must not end when the reader of the output disappears.
    SignalSource.ignoreBrokenPipe()
    try? protectMemory()
    exit(run(CurrentProcess.arguments))
  }

  /// Ends the program at once, with all its threads: no exit handler runs, so that none frees data
  /// that a thread still uses, such as OpenSSL's tables.
  static func exit(_ code: Int32) -> Never {
    CurrentProcess.flushOutput()
    CurrentProcess.exitNow(code)
  }

  /// Keeps keys, codes and data out of core files, of traces of a crash, and from other processes,
  /// unless the user wants to look for a mistake in this program.
  static func protectMemory() throws(SystemError) {
    if Environment.get(debuggable) != "1" { try CurrentProcess.keepMemorySecret() }
  }

  /// The environment variable for debugging.
  static let debuggable = "PEER_DEBUGGABLE"

  /// Performs the command line, and returns the exit code.
  private static func run(_ words: [[UInt8]]) -> Int32 {
    do {
      return run(try Command(words))
    } catch {
      // The command line that would name the reader of the output is invalid.
      let json = words.prefix { $0 != Array("--".utf8) }.contains(Array("--json".utf8))
      return Output(.sender, json: json).fail(error)
    }
  }

  private static func run(_ command: Command) -> Int32 {
    switch command {
    case .nothing:
      StandardStream.error.write(Overview.short)
      return ExitCode.usage
    case .help(let topic): return show(HelpText.of(topic))
    case .manual(let page): return show(page.text)
    case .completion(let shell): return show(shell.script)
    case .version(let isVerbose): return show(isVerbose ? VersionReport.text : "peer \(Version.current)\n")
    case .complete(let request): return show(request.answer)
    case .receive(let options):
      let output = Output(
        .receiver, json: options.json, app: options.app, isOfEverything: options.takesEverything,
        isVerbose: options.isVerbose, keeps: options.transfer.keeps, atOnce: options.transfer.atOnce)
      return perform(output) { () throws(Failure) in try runReceive(options, output) }
    case .send(let options) where options.everything?.isDry == true: return ChosenEverything.show(options)
    case .send(let options):
      let output = Output(.sender, json: options.json)
      return perform(output) { () throws(Failure) in try runSend(options, output) }
    case .assistant(let opensBrowser): return Assistant.perform(opensBrowser: opensBrowser)
    case .discover(let options): return options.perform()
    case .relay(let options): return options.perform()
    case .resumeList(let json): return Answer.give(json: json, Unfinished.list)
    case .forgetOlder(let age, let json):
      return Answer.give(json: json) { (json) throws(Failure) in try Unfinished.forget(olderThan: age, json: json) }
    case .forget(let prefix, let json):
      return Answer.give(json: json) { (json) throws(Failure) in try Unfinished.forget(prefix, json: json) }
    case .device(let command, let json): return Answer.give(json: json, command.answer)
    case .app(let command, let json): return Answer.give(json: json, command.answer)
    case .check(let options): return options.perform()
    case .migrate(let options): return Migrating.perform(options)
    case .credentials(let command, let json): return Answer.give(json: json, command.answer)
    case .account(let command, let json): return Answer.give(json: json, command.answer)
    case .newCode(let file): return CodeFile.perform(file)
    }
  }

  private static func show(_ text: String) -> Int32 {
    Answer.give(json: false) { (_) throws(Failure) in Rendering(standardOutput: text) }
  }

  private static func perform(
    _ output: Output, _ transfer: () throws(Failure) -> TransferResult
  ) -> Int32 {
    do {
      return output.finish(try transfer())
    } catch {
      return output.fail(error)
    }
  }
}

/// The facts about this device for an error report. No fact names the user, the device or a path.
enum VersionReport {
  static var text: String {
    let rows: [(name: String, value: String?)] = [
      ("protocol", "\(PairingFrame.version), of relays \(RelayFrame.version)"),
      ("OpenSSL", Version.openSSL),
      ("zstd", Zstandard.version ?? "not found"),
      ("system", SystemDescription.distribution),
      ("kernel", SystemDescription.kernel.map { "Linux \($0)" }),
      ("processors", "\(CurrentProcess.processors), \(SystemDescription.architecture)"),
      ("home", (try? Home.ofUser(hint: "")).flatMap(SystemDescription.fileSystem)),
      ("PEER_HOME", (try? Home.chosen()).flatMap(SystemDescription.fileSystem)),
      ("Landlock", Confinement.landlockVersion.map { "version \($0)" } ?? "missing"),
      ("seccomp", Confinement.strength.contains(.calls) ? "works" : "missing"),
      ("metadata", Confinement.usualGuard.map(words) ?? "not guarded"),
    ]
    let lines = rows.map { "\($0.name):".padded(to: 12) + VisibleText.of($0.value ?? "unknown") + "\n" }
    return "peer \(Version.current)\n" + lines.joined()
  }

  /// The words for the guard that keeps an app's extension from changing the metadata of files.
  private static func words(_ guardian: Confinement.AttributeGuard) -> String {
    switch guardian {
    case .answers: "guarded by notifications of seccomp"
    case .mounts: "guarded by private mounts"
    }
  }
}
