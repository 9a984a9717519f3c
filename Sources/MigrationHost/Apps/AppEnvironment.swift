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

  package init(
    bundleIdentifier: String, container: String, groups: [String: String], status: String, channel: Int32? = nil
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.container = container
    self.groups = groups
    self.status = status
    self.channel = channel
  }

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
