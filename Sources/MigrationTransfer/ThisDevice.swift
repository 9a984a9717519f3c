import MigrationSystem
import MigrationWire

/// This device's description of itself.
package enum ThisDevice {
  /// The longest time in seconds to wait for another device, a month: a longer time is a mistake.
  package static let longestPatience = 30.0 * 24 * 3600

  /// Its name: the user's choice or the host name, shortened to the length of a label.
  package static func label(_ chosen: String?) -> String {
    var label = chosen ?? ""
    if label.isEmpty { label = (try? CurrentProcess.hostName()) ?? "a device" }
    while label.utf8.count > Limits.label { label.unicodeScalars.removeLast() }
    return label
  }
}
