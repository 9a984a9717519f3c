import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationVault
import MigrationWire

/// Becoming an app: what its process gets besides what every program has, and what of PEER_HOME it sees.
enum Running {
  /// Becomes an app whose data is in order; returns only to say why that failed.
  static func become(_ started: AppHome.Started, _ arguments: [[UInt8]], in home: AppHome) -> TransferFailure {
    let bundle = started.app.bundle
    let keys = CredentialVault.keysDirectory()
    var variables = started.app.variables()
    // It is started first: it sees the whole of PEER_HOME, and has neither the app's lock nor a place in its session.
    let credentials = credentials(of: bundle, home: home.path, keys: keys)
    do {
      if case .clip = bundle.role { try narrow(started.app, home: home.path, keys: keys) }
      if let credentials {
        variables.merge(credentials.variables) { _, new in new }
        try credentials.keepOnExec()
      }
      try started.lock.keepOnExec()
    } catch let error as HostError {
      return TransferFailure(error)
    } catch {
      return TransferFailure(.failed, "\(error)")
    }
    let error = CurrentProcess.replace(
      with: bundle.executable, arguments: [bundle.executable] + arguments, environment: variables)
    withExtendedLifetime(started.lock) {}
    return TransferFailure(.failed, error.description)
  }

  /// The app's way to its credentials; nil where it cannot have one, which is said.
  private static func credentials(of bundle: AppBundle, home: String, keys: [UInt8]?) -> CredentialsOfApp? {
    do {
      return try CredentialsOfApp(bundle, home: home, keys: keys)
    } catch {
      note("\(bundle.identifier) finds no credentials: \(error)")
      return nil
    }
  }

  /// Lets a clip see of PEER_HOME only what is its own, and the keys not at all; where that cannot be had, it is said.
  private static func narrow(_ clip: InstalledApp, home: String, keys: [UInt8]?) throws(SystemError) {
    // One that is made later would be seen.
    if let keys { _ = try? Directory.openOrMake(keys, mode: 0o700) }
    let hidden = keys.flatMap { (try? Directory.open($0)) == nil ? nil : $0 }
    let view = FileView(of: home, showing: clip.ownPaths, hiding: hidden)
    if let error = view.trial() {
      return note("\(clip.identifier) could read what other apps keep in \(VisibleText.quoted(home)): \(error)")
    }
    try view.apply()
  }

  private static func note(_ text: String) { StandardStream.error.write("peer: note: \(text)\n") }
}
