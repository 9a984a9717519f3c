import MigrationSystem
import MigrationTransfer
import MigrationWire

/// What a report of an error should say about this device: nothing in it names the user, the device
/// or a path.
enum VersionReport {
  static var text: String {
    let rows: [(name: String, value: String?)] = [
      ("protocol", "\(PairingFrame.version), of relays \(RelayFrame.version)"),
      ("OpenSSL", Version.openSSL),
      ("zstd", Zstandard.version ?? "not found"),
      ("system", SystemDescription.distribution),
      ("kernel", SystemDescription.kernel.map { "Linux \($0)" }),
      ("processors", "\(CurrentProcess.processors), \(SystemDescription.architecture)"),
      ("home", (try? Home.ofUser(hint: "")).flatMap(SystemDescription.fileSystem)),
      ("PEER_HOME", (try? Home.chosen()).flatMap(SystemDescription.fileSystem)),
      ("Landlock", Confinement.landlockVersion.map { "version \($0)" } ?? "missing"),
      ("seccomp", Confinement.strength.contains(.calls) ? "works" : "missing"),
      ("metadata", Confinement.usualGuard.map(words) ?? "not guarded"),
    ]
    let lines = rows.map { "\($0.name):".padded(to: 12) + VisibleText.of($0.value ?? "unknown") + "\n" }
    return "peer \(Version.current)\n" + lines.joined()
  }

  /// What keeps the extension of an app from changing the metadata of files.
  private static func words(_ guardian: Confinement.AttributeGuard) -> String {
    switch guardian {
    case .answers: "guarded by notifications of seccomp"
    case .mounts: "guarded by private mounts"
    }
  }
}
