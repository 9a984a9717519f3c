import MigrationSystem
import MigrationWire

/// What this device says of itself.
package enum ThisDevice {
  /// What it is called: what the user said, or its host name; no longer than a label may be.
  package static func label(_ chosen: String?) -> String {
    var label = chosen ?? ""
    if label.isEmpty { label = (try? CurrentProcess.hostName()) ?? "a device" }
    while label.utf8.count > Limits.label { label.unicodeScalars.removeLast() }
    return label
  }
}
