import MigrationEngine
import MigrationSystem
import MigrationWire

/// The name or the address of a device, without a port.
enum PlainHost {
  /// The host, without the brackets of an IPv6 address. Fails if the text is not a host.
  static func checked(_ text: String) throws(TransferFailure) -> String {
    let wrong = "\(VisibleText.quoted(Array(text.utf8))) is not the name or address of a device"
    // No device has port 0: another port is in the text.
    guard let place = try? HostAndPort.parse(text, defaultPort: 0), place.port == 0, let host = place.host else {
      throw TransferFailure(.usage, wrong, hint: "Give the port separately.")
    }
    return host
  }
}
