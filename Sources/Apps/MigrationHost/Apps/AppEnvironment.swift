import FoundationEssentials
import MigrationSystem

/// The information that `peer` gives a process of an app about itself, in one environment variable:
/// to the app under `peer app run`, and to its extension during a migration.
package struct AppEnvironment: Codable, Equatable, Sendable {
  /// The variable's name; its value is JSON.
  package static let variable = "PEER_APP"

  package var bundleIdentifier: String
  /// The absolute path of the app's data container.
  package var container: String
  /// The absolute paths of the group containers that the process may use, by group.
  package var groups: [String: String]
  /// The file with the result of the last import.
  package var status: String
  /// The number of the descriptor that is connected to the host; nil in an app.
  package var channel: Int32?

  /// The information that this process received; nil if `peer` did not start it.
  package static func current() -> AppEnvironment? {
    guard let text = Environment.bytes(variable) else { return nil }
    return try? JSONDecoder().decode(AppEnvironment.self, from: Data(text))
  }

  /// The variable's value.
  package var encoded: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else {
      preconditionFailure("strings and a number can be written as JSON")
    }
    return String(decoding: data, as: UTF8.self)
  }
}

extension AppEnvironment {
  /// The variables about the user that both the app and the extension get: language, formats and
  /// time zone, and the paths of programs.
  fileprivate static let inherited =
    ["LANG", "LANGUAGE", "TZ", "LC_ALL"]
    + [
      "ADDRESS", "COLLATE", "CTYPE", "IDENTIFICATION", "MEASUREMENT", "MESSAGES", "MONETARY", "NAME", "NUMERIC",
      "PAPER",
      "TELEPHONE", "TIME",
    ].map { "LC_\($0)" }

  /// The additional variables that an app needs for its user interface; an extension has none.
  fileprivate static let inheritedByApp = [
    "TERM", "COLORTERM", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
  ]

  private static let usualPath = "/usr/local/bin:/usr/bin:/bin"

  /// The whole environment of a process whose home is the container; docs/Apps.md has the table.
  fileprivate func variables(inheriting names: [String], from caller: (String) -> String?) -> [String: String] {
    var variables = [
      "HOME": container,
      "CFFIXED_USER_HOME": container,
      "TMPDIR": "\(container)/tmp",
      "XDG_DATA_HOME": "\(container)/Library/Application Support",
      "XDG_CACHE_HOME": "\(container)/Library/Caches",
      "XDG_CONFIG_HOME": "\(container)/.config",
      "PATH": caller("PATH") ?? Self.usualPath,
    ]
    for name in names { variables[name] = caller(name) }
    variables[Self.variable] = encoded
    return variables
  }
}

extension InstalledApp {
  /// The whole environment of the app's own process.
  ///
  /// - Parameter caller: the source of the inherited variables.
  package func variables(from caller: (String) -> String? = Environment.get) -> [String: String] {
    let environment = AppEnvironment(
      bundleIdentifier: identifier, container: containerPath, groups: groupPaths(bundle.groups), status: statusPath)
    return environment.variables(
      inheriting: AppEnvironment.inherited + AppEnvironment.inheritedByApp, from: caller)
  }
}

extension ExtensionSite {
  /// The whole environment of the extension.
  ///
  /// - Parameters:
  ///   - channel: the number of the descriptor that is connected to the host.
  ///   - caller: the source of the inherited variables.
  func variables(channel: Int32, from caller: (String) -> String? = Environment.get) -> [String: String] {
    let environment = AppEnvironment(
      bundleIdentifier: identifier, container: container, groups: groups, status: status, channel: channel)
    var variables = environment.variables(inheriting: AppEnvironment.inherited, from: caller)
    variables["TMPDIR"] = scratch
    // The runtime examines a crash in another process, and a confined process may not have one.
    variables["SWIFT_BACKTRACE"] = isConfined ? "enable=no" : caller("SWIFT_BACKTRACE")
    return variables
  }
}
