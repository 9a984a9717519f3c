import MigrationArchive
import MigrationCredentials
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationVault
import MigrationWire

/// The credentials that an app leaves behind when it is removed: its own, and those of its clips.
struct CredentialsLeft: Equatable {
  /// The action taken on the credentials.
  enum Outcome: String {
    case none
    case kept
    case removed
  }

  let identifier: String
  private let owners: [CredentialOwner]
  private(set) var outcome: Outcome

  /// Finds the credentials while the app is still installed: its bundle names the app of a clip.
  init(by identifier: String, in home: AppHome) {
    self.identifier = identifier
    let stored = (try? CredentialVault(home: Array(home.path.utf8), keys: nil).owners()) ?? []
    if let bundle = try? home.app(identifier).bundle {
      let own = CredentialPrincipal(bundle).owner
      owners = stored.filter { $0 == own || own.suffix == nil && $0.app == own.app }
    } else {
      // An unreadable bundle tells only its identifier.
      owners = stored.filter { $0.identifier == identifier }
    }
    outcome = owners.isEmpty ? .none : .kept
  }

  /// Removes them after the app.
  mutating func remove() throws(Failure) {
    guard !owners.isEmpty else { return }
    do {
      try withVault { vault throws(Failure) in
        for owner in owners { try vault.removeAll(of: owner) }
      }
    } catch {
      throw Failure(
        error.code, "\(identifier) and its data are removed, but not its credentials: \(error.message)",
        hint: "Remove them with 'peer credentials remove': \(names).")
    }
    outcome = .removed
  }

  private var names: String { owners.map(\.name).joined(separator: ", ") }

  /// The sentence for a person.
  var sentence: String {
    switch outcome {
    case .none: ""
    case .kept: "peer: note: credentials stay; 'peer credentials remove' removes those of \(names)\n"
    case .removed: "The credentials of \(names) are removed.\n"
    }
  }
}

extension AppHome.Installation {
  /// Whether the app finds credentials of an earlier installation.
  var hasEarlierCredentials: Bool {
    guard previousVersion == nil, let home = try? Home.path() else { return false }
    return CredentialVault(home: home, keys: nil).hasItems(of: CredentialPrincipal(app.bundle).owner)
  }

  /// The note about them for a person.
  var noteOnCredentials: String {
    hasEarlierCredentials
      ? "peer: note: \(app.identifier) finds the credentials of an earlier installation\n" : ""
  }
}
