import MigrationSystem
import MigrationTLS
import MigrationWire

/// The version of the program.
package enum Version {
  /// The day of the release, past or planned. Manual pages show it, so they do not depend on the
  /// day of the build.
  package static let date = "2026-11-30"

  /// The version as `--version` prints it, by Semantic Versioning.
  package static let current = "0.4.0"

  /// The version as the other device gets it.
  package static let software = "peer \(current)"

  /// The version of the OpenSSL that runs, and whether the processor helps it.
  package static var openSSL: String { "\(OpenSSL.version), AES \(OpenSSL.hasFastAES ? "in hardware" : "in software")" }
}

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
