import MigrationApps
import MigrationSystem

extension SettingsLoader {
  /// The program dconf(1), which reads and writes the settings of a desktop. Only the system's dconf counts.
  struct Dconf: Sendable {
    /// The database of a home, relative to it.
    static let database = Array(".config/dconf/user".utf8)

    /// Without the variables that lead to the session, it would find other settings.
    private static let variables = [
      "HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DCONF_PROFILE",
    ]
    private static let patience = Duration.seconds(30)
    private let program: SystemProgram
    private let environment: [String: String]

    /// Nil if the system does not have it.
    init?(variable: (String) -> String? = Environment.get) {
      guard let program = SystemProgram("dconf") else { return nil }
      self.program = program
      environment = Dictionary(
        uniqueKeysWithValues: Self.variables.compactMap { name in variable(name).map { (name, $0) } })
    }

    /// All settings of the user; nil if they cannot be read.
    ///
    /// - Parameter home: the path of a home from elsewhere, whose own database counts, without those of
    ///   this system.
    func settings(ofHome home: [UInt8]? = nil) -> DesktopSettings? {
      guard let output = try? dump(ofHome: home) else { return nil }
      return DesktopSettings(dump: output)
    }

    /// Loads settings over those that are there, through an empty file.
    func load(_ settings: DesktopSettings, through file: consuming Descriptor) throws(SystemError) {
      try file.write(at: 0, settings.dump.span)
      _ = try run(["load", "/"], environment, input: file)
    }

    private func dump(ofHome home: [UInt8]?) throws(SystemError) -> [UInt8] {
      guard let home else { return try run(["dump", "/"], environment, input: nil) }
      var variables = environment
      variables["XDG_CONFIG_HOME"] = String(decoding: home + Array("/.config".utf8), as: UTF8.self)
      variables["DCONF_PROFILE"] = "/dev/stdin"
      var pipe = try Descriptor.pipe()
      try pipe.takeWriteEnd().append(Array("user-db:user\n".utf8).span)
      return try run(["dump", "/"], variables, input: pipe.takeReadEnd())
    }

    private func run(
      _ arguments: [String], _ variables: [String: String], input: consuming Descriptor?
    ) throws(SystemError) -> [UInt8] {
      do throws(SystemError) {
        return try program.run(
          arguments, environment: variables, input: input, limit: DesktopSettings.longest, patience: Self.patience)
      } catch {
        throw SystemError(reason: "dconf has failed: is there a session of the desktop?", operation: "run dconf")
      }
    }
  }
}
