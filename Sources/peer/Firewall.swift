import MigrationEngine
import MigrationSystem
import MigrationTransfer

/// The firewall of this device, as far as any user may see it.
enum Firewall: Equatable, Sendable {
  case ufw
  case firewalld
  case nftables
  case unknown

  /// Finds the firewall that is active.
  static func find() -> Firewall {
    let ufw = (try? FileContent.read(Array("/etc/ufw/ufw.conf".utf8), limit: 4096)) ?? []
    if String(decoding: ufw, as: UTF8.self).split(separator: "\n").contains("ENABLED=yes") { return .ufw }
    if isActive("firewalld") { return .firewalld }
    return isActive("nftables") ? .nftables : .unknown
  }

  /// Whether systemd runs a service.
  private static func isActive(_ service: String) -> Bool {
    (try? Directory.open(Array("/run/systemd/units".utf8)).status(Array("invocation:\(service).service".utf8))) != nil
  }

  /// What a receiver waits for, and what may keep a sender away, with the command for the firewall.
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

  private func command(_ listening: Listening) -> String? {
    let (port, isAnnounced) = (listening.port, listening.isAnnounced)
    return switch self {
    case .ufw: "sudo ufw allow \(port)/tcp" + (isAnnounced ? " && sudo ufw allow 5353/udp" : "")
    case .firewalld: "sudo firewall-cmd --add-port=\(port)/tcp" + (isAnnounced ? " --add-service=mdns" : "")
    case .nftables:
      "sudo nft insert rule inet filter input tcp dport \(port) accept"
        + (isAnnounced ? " && sudo nft insert rule inet filter input udp dport 5353 accept" : "")
    case .unknown: nil
    }
  }
}
