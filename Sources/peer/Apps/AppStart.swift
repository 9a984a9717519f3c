import MigrationArchive
import MigrationCredentials
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationVault
import MigrationWire

/// Becoming an app: the app's environment and descriptors, and its view of PEER_HOME.
enum AppStart {
  /// The variable with the number and the inode of the socket of the app's broker; CCredentials reads it.
  private static let socketVariable = "PEER_CREDENTIALS"

  /// Becomes an app whose data is in order; returns only after a failure.
  static func become(_ started: AppHome.Started, _ arguments: [[UInt8]], in home: AppHome) -> Failure {
    let bundle = started.app.bundle
    let keys = CredentialVault.keysDirectory()
    var variables = started.app.variables()
    // The broker starts first: it sees the whole of PEER_HOME, and has neither the app's lock nor a
    // place in its session.
    let credentials = credentials(of: bundle, home: home.path, keys: keys)
    do {
      if case .clip = bundle.role { try narrow(started.app, home: home.path, keys: keys) }
      if let credentials {
        variables[socketVariable] = "\(credentials.raw):\(try credentials.descriptor.status().inode)"
        try credentials.descriptor.keepOnExec()
      }
      try started.lock.keepOnExec()
    } catch {
      return Failure(error)
    }
    let error = CurrentProcess.replace(
      with: bundle.executable, arguments: [bundle.executable] + arguments, environment: variables)
    withExtendedLifetime(started.lock) {}
    return Failure(error)
  }

  /// The socket of the broker of the app's credentials; nil, with a note, if it cannot have any.
  private static func credentials(of bundle: AppBundle, home: String, keys: [UInt8]?) -> SharedDescriptor? {
    do {
      let storage = CredentialVault(home: Array(home.utf8), keys: keys)
      return SharedDescriptor(try CredentialBroker.start(for: CredentialPrincipal(bundle), storage: storage))
    } catch {
      note("\(bundle.identifier) finds no credentials: \(error)")
      return nil
    }
  }

  /// Limits a clip's view of PEER_HOME to its own data, without the keys; a note says if that is
  /// impossible.
  private static func narrow(_ clip: InstalledApp, home: String, keys: [UInt8]?) throws(SystemError) {
    // A directory that is created later would be visible.
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
