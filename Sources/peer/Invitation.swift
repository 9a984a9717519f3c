import MigrationEngine
import MigrationWire

/// The first output of a receiver: the command to type on the other device.
struct Invitation: Equatable, Sendable {
  let text: String

  /// `wanted` has the words after `peer send` on the other device. Only with `isVerbose`, all
  /// addresses are shown.
  init(_ listening: Listening, wanting wanted: String, isVerbose: Bool) {
    var lines: [String] = []
    let hosts = listening.shown.map { Self.target($0, listening.port) }
    if let first = hosts.first {
      lines.append("On the other device:  peer send \(wanted) --to \(first)")
      if isVerbose { lines += hosts.dropFirst().map { "                  or  ... --to \($0)" } }
    } else {
      lines.append("Listening on port \(listening.port).")
    }
    if listening.isAnnounced { lines.append("            or just:  peer send \(wanted)   (same network)") }
    if !listening.from.isEmpty { lines.append("Only from: \(listening.from.joined(separator: ", "))") }
    text = lines.joined(separator: "\n")
  }

  /// The address as it is typed, without the default port.
  static func target(_ host: String, _ port: UInt16) -> String {
    if port == Limits.defaultPort { return VisibleText.of(host) }
    return VisibleText.of(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
  }
}
