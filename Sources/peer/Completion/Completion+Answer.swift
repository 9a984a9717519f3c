import MigrationDiscovery
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationVault
import MigrationWire

extension Completion {
  /// The seconds of a search for devices while a person waits for the list.
  private static let lookingTime = 1.0

  /// The kind of the offer (`words`, `files` or `directories`), a tab, and the prefix.
  var firstLine: String {
    let kind =
      switch offer {
      case .words, .apps, .owners, .transfers, .devices: "words"
      case .files: "files"
      case .directories: "directories"
      }
    return "\(kind)\t\(prefix)\n"
  }

  /// A line for each offered word: the word, a tab, and its meaning.
  ///
  /// Failures give no candidates and no message, since the user is in the middle of a line. For the
  /// same reason, nothing is written and no lock is waited for.
  var candidateLines: String {
    let candidates: [Candidate] =
      switch offer {
      case .words(let words): words
      case .files, .directories: []
      case .apps: (try? Self.apps()) ?? []
      case .owners: (try? withVault { vault throws(VaultError) in try vault.owners().map { Candidate($0) } }) ?? []
      case .transfers: (try? Self.transfers()) ?? []
      case .devices: (try? Self.devices()) ?? []
      }
    return candidates.map { "\($0.word)\t\($0.meaning)\n" }.joined()
  }

  private static func apps() throws -> [Candidate] {
    try AppHome.glance(at: try Home.path()).apps.map { app in
      let name = app.bundle.displayName.map { "\(VisibleText.of($0)) " } ?? ""
      return Candidate(word: app.identifier, meaning: name + VisibleText.of(app.bundle.version))
    }
  }

  private static func transfers() throws -> [Candidate] {
    try TransferStore(home: try Home.path()).list().candidates
  }

  private static func devices() throws -> [Candidate] {
    try Discover.look(for: lookingTime).compactMap { device in
      device.addresses.first.map { address in
        Candidate(
          word: Invitation.target(address.hostDescription, address.port), meaning: VisibleText.of(device.label))
      }
    }
  }
}
