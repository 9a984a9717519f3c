import MigrationEngine
import MigrationWire

/// What a receiver shows first: the command that the other device's user types.
struct Invitation: Equatable, Sendable {
  let text: String

  /// `wanted` is what the other device has to name for sending. Only with `isVerbose` other addresses than the first are shown.
  init(_ listening: Listening, wanting wanted: String, isVerbose: Bool) {
    var lines: [String] = []
    let hosts = listening.shown.map { Self.target($0, listening.port) }
    if let first = hosts.first {
      lines.append("On the other device:  peer send \(wanted) --to \(first)")
      if isVerbose { lines += hosts.dropFirst().map { "                  or  ... --to \($0)" } }
    } else {
      lines.append("Waiting at port \(listening.port).")
    }
    if listening.isAnnounced { lines.append("            or just:  peer send \(wanted)   (same network)") }
    if !listening.from.isEmpty { lines.append("Only from: \(listening.from.joined(separator: ", "))") }
    text = lines.joined(separator: "\n")
  }

  /// As it is typed; without the port that a sender takes without being told.
  static func target(_ host: String, _ port: UInt16) -> String {
    if port == Limits.defaultPort { return VisibleText.of(host) }
    return VisibleText.of(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
  }
}
