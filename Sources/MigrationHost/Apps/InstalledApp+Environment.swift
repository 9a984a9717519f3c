import MigrationSystem

/// A process of an app, as far as its environment differs.
package enum AppProcess: Equatable, Sendable {
  /// The app itself.
  case app
  /// Its migration extension, with the number of the descriptor that leads to the host.
  case `extension`(channel: Int32)
}

extension InstalledApp {
  /// What both may know of the user: language, formats and time zone, and where programs are.
  private static let inherited =
    ["LANG", "LANGUAGE", "TZ", "LC_ALL"]
    + [
      "ADDRESS", "COLLATE", "CTYPE", "IDENTIFICATION", "MEASUREMENT", "MESSAGES", "MONETARY", "NAME", "NUMERIC",
      "PAPER",
      "TELEPHONE", "TIME",
    ].map { "LC_\($0)" }

  /// What an app needs besides to be seen by its user; an extension has no user.
  private static let inheritedByApp = [
    "TERM", "COLORTERM", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
  ]

  private static let usualPath = "/usr/local/bin:/usr/bin:/bin"

  /// The whole environment of a process of the app.
  ///
  /// - Parameter caller: where what is handed on comes from.
  package func variables(
    for process: AppProcess, from caller: (String) -> String? = Environment.get
  ) -> [String: String] {
    var variables = [
      "HOME": containerPath,
      "CFFIXED_USER_HOME": containerPath,
      "TMPDIR": "\(containerPath)/tmp",
      "XDG_DATA_HOME": "\(containerPath)/Library/Application Support",
      "XDG_CACHE_HOME": "\(containerPath)/Library/Caches",
      "XDG_CONFIG_HOME": "\(containerPath)/.config",
      "PATH": caller("PATH") ?? Self.usualPath,
    ]
    let names = process == .app ? Self.inherited + Self.inheritedByApp : Self.inherited
    for name in names { variables[name] = caller(name) }
    variables[AppEnvironment.variable] = environment(of: process).encoded
    return variables
  }

  private func environment(of process: AppProcess) -> AppEnvironment {
    var environment = AppEnvironment(
      bundleIdentifier: identifier, container: containerPath, groups: groupPaths(bundle.groups), status: statusPath)
    if case .extension(let channel) = process {
      environment.groups = groupPaths(bundle.migrationExtension.groups)
      environment.channel = channel
    }
    return environment
  }
}
