import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The firewall of this device, as far as any user may see it.
enum Firewall: Equatable, Sendable {
  case ufw
  case firewalld
  case nftables
  case unknown

  /// After this many seconds without the other device, a report names the possible obstacles.
  static let patience = 20.0

  /// Finds the firewall that is active.
  static func find() -> Firewall {
    let ufw = (try? FileContent.read(Array("/etc/ufw/ufw.conf".utf8), limit: 4096)) ?? []
    if String(decoding: ufw, as: UTF8.self).split(separator: "\n").contains("ENABLED=yes") { return .ufw }
    if isActive("firewalld") { return .firewalld }
    return isActive("nftables") ? .nftables : .unknown
  }

  private static func isActive(_ service: String) -> Bool {
    (try? Directory.open(Array("/run/systemd/units".utf8)).status(Array("invocation:\(service).service".utf8))) != nil
  }

  /// Advice to a sender that waits for its known receiver: the conditions, and the possible obstacles.
  ///
  /// - Parameter address: the receiver's address; nil for a sender that searches.
  func advice(toSenderFor address: String?) -> String {
    let place = address.map { "at \(VisibleText.of($0))" } ?? "in this network"
    let blocked =
      "A firewall there may drop the packets: a waiting 'peer receive' shows the command that allows them."
    let here = address == nil ? search.map { "\nThe firewall here must allow UDP port 5353:\n  \($0)" } ?? "" : ""
    return """
      Still waiting for 'peer receive' \(place): it must run on the other device, as before.
      \(blocked)\(here)
      A network for guests or a VPN may keep the devices apart.
      """
  }

  /// The failure of a search, with the command for this device's firewall.
  func explaining(_ failure: Failure) -> Failure {
    guard failure == .noneFound, let hint = failure.hint, let search else { return failure }
    return failure.hinting("\(hint) The command for the one here: \(search)")
  }

  /// Advice to a waiting receiver: the conditions, the possible obstacles, and the command for the firewall.
  func advice(_ listening: Listening) -> String {
    let mine = listening.isAnnounced ? " in the same network, or with --to" : " with --to"
    let ports = "TCP port \(listening.port)" + (listening.isAnnounced ? " and UDP port 5353" : "")
    let blocked =
      command(listening).map { "The firewall here must allow \(ports):\n  \($0)" }
      ?? "A firewall here or between the devices must allow \(ports)."
    return """
      Still waiting for 'peer send' on the other device,\(mine).
      \(blocked)
      A network for guests or a VPN may keep the devices apart.
      """
  }

  /// The command that lets senders through this device's firewall.
  func command(_ listening: Listening) -> String? {
    let port = listening.port
    let connect: String? =
      switch self {
      case .ufw: "sudo ufw allow \(port)/tcp"
      case .firewalld: "sudo firewall-cmd --add-port=\(port)/tcp"
      case .nftables: "sudo nft insert rule inet filter input tcp dport \(port) accept"
      case .unknown: nil
      }
    let commands = [connect, listening.isAnnounced ? search : nil].compactMap { $0 }
    return commands.isEmpty ? nil : commands.joined(separator: " && ")
  }

  /// The command that lets devices find each other.
  private var search: String? {
    switch self {
    case .ufw: "sudo ufw allow 5353/udp"
    case .firewalld: "sudo firewall-cmd --add-service=mdns"
    case .nftables: "sudo nft insert rule inet filter input udp dport 5353 accept"
    case .unknown: nil
    }
  }
}
