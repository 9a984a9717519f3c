import MigrationApps
import MigrationSystem
import MigrationWire

/// The program dconf(1), which reads and writes the settings of a desktop.
struct Dconf: Sendable {
  /// Without the variables that lead to the session, it would find other settings.
  private static let variables = [
    "PATH", "HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DCONF_PROFILE",
  ]
  private let environment: [String: String]

  /// Nil if it is not installed.
  init?(variable: (String) -> String? = Environment.get) {
    let folders = (variable("PATH") ?? "").split(separator: ":").filter { $0.first == "/" }
    guard folders.contains(where: { (try? Directory.status(of: Array("\($0)/dconf".utf8)))?.kind == .regular }) else {
      return nil
    }
    environment = Dictionary(
      uniqueKeysWithValues: Self.variables.compactMap { name in variable(name).map { (name, $0) } })
  }

  /// All settings of the user; nil if they cannot be read.
  func settings() -> DesktopSettings? {
    guard let output = try? run("dump /", input: nil) else { return nil }
    return DesktopSettings(dump: output)
  }

  /// Loads settings over those that are there, through an empty file.
  func load(_ settings: DesktopSettings, through file: consuming Descriptor) throws(SystemError) {
    try file.write(at: 0, settings.dump.span)
    _ = try run("load / <&3", input: file)
  }

  /// Runs a command of it; returns its output. It ends after half a minute.
  private func run(_ command: String, input: consuming Descriptor?) throws(SystemError) -> [UInt8] {
    var pipe = try Descriptor.pipe()
    let reading = pipe.takeReadEnd()
    let process = try start(command, input: input, output: pipe.takeWriteEnd())
    let output = try reading.readToEnd(limit: DesktopSettings.longest)
    guard case .exited(0) = try process.wait() else {
      throw SystemError(reason: "dconf has failed: is there a session of the desktop?", operation: "run dconf")
    }
    return output
  }

  private func start(
    _ command: String, input: consuming Descriptor?, output: consuming Descriptor
  ) throws(SystemError) -> ChildProcess {
    let channel = if let input { input } else { try Descriptor.open("/dev/null", .readOnly) }
    let endowment = ChildProcess.Endowment(
      output: output, error: try Descriptor.open("/dev/null", .readWrite), channel: channel, lock: nil)
    return try ChildProcess(
      ChildProcess.Settings(
        executable: "/bin/sh", arguments: ["-c", "exec timeout 30 dconf \(command)"], environment: environment,
        directory: "/", confinement: nil), endowment)
  }
}
