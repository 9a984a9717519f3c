import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension PeerSender.Target {
  /// Reads where a device is, as `peer send --to` does: `HOST`, `HOST:PORT`, `[IPv6]:PORT`.
  public init(_ text: String) throws(PeerError) {
    let hint = "Write the address that the other device shows."
    let place: HostAndPort
    do throws(HostAndPort.ParseError) {
      place = try HostAndPort.parse(text, defaultPort: Limits.defaultPort)
    } catch {
      throw PeerError(.usage, error.description, hint: hint)
    }
    guard let host = place.host else { throw PeerError(.usage, "a host is missing", hint: hint) }
    self = .host(host, port: place.port)
  }

  /// The same in the engine's words.
  var place: Sender.Options.Target {
    get throws(TransferFailure) {
      switch self {
      case .nearby: .nearby
      case .host(let host, let port): .host(try Self.at(host, port))
      case .device(let device):
        .host(try Self.at(device.host, device.port ?? Limits.defaultPort), label: device.name)
      }
    }
  }

  private static func at(_ host: String, _ port: UInt16) throws(TransferFailure) -> HostAndPort {
    guard !host.isEmpty else { throw TransferFailure(.usage, "a host is missing", hint: "Name the other device.") }
    guard port != 0 else { throw TransferFailure(.usage, "no device can be reached at port 0") }
    return HostAndPort(host: host, port: port)
  }
}
