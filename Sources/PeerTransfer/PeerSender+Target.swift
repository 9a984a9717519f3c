import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension PeerSender.Target {
  /// Reads the address of a device, as `peer send --to` does: `HOST`, `HOST:PORT`, `[IPv6]:PORT`.
  public init(_ text: String) throws(PeerError) {
    let hint = "Use the address that the other device shows."
    let place: HostAndPort
    do throws(HostAndPort.ParseError) {
      place = try HostAndPort.parse(text, defaultPort: Limits.defaultPort)
    } catch {
      throw PeerError(.usage, error.description, hint: hint)
    }
    guard let host = place.host else { throw PeerError(.usage, "missing host", hint: hint) }
    self = .host(host, port: place.port)
  }

  /// The target for the engine: the receiver's place, and the search that finds it.
  var way: (place: Sender.Options.Target, search: any NearbySearch) {
    get throws(TransferFailure) {
      switch self {
      case .nearby: return (.nearby, NetworkSearch())
      case .host(let host, let port):
        guard port != 0 else { throw TransferFailure(.usage, "port 0 is not valid") }
        return (.host(HostAndPort(host: try PlainHost.checked(host), port: port)), NetworkSearch())
      case .device(let device):
        guard let found = device.found else {
          throw TransferFailure(
            .usage, "the port of \(device) is unknown", hint: "Search for it again, or name its address and port.")
        }
        return (.nearby, FoundDevice(device: found))
      }
    }
  }
}

/// A completed search that has found one device.
private struct FoundDevice: NearbySearch {
  let device: NearbyDevice

  func look(for seconds: Double, unless stop: StopSignal) throws(Fault) -> [NearbyDevice] { [device] }
}
