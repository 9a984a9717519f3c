import MigrationFinding
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationVault
import MigrationWire

extension Completion {
  /// For how many seconds devices are looked for while a person waits for the list.
  private static let lookingTime = 1.0

  /// What is offered (`words`, `files` or `directories`) and, behind a tab, the prefix.
  var firstLine: String {
    let kind =
      switch offer {
      case .words, .apps, .owners, .transfers, .devices: "words"
      case .files: "files"
      case .directories: "directories"
      }
    return "\(kind)\t\(prefix)\n"
  }

  /// A line for each word that is offered: the word and, behind a tab, what it means.
  ///
  /// What cannot be found out is not offered, and nothing is said about it: the user is in the middle of a line. So nothing is
  /// written either, and no lock waited for.
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
