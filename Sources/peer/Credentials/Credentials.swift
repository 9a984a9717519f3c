import MigrationArchive
import MigrationCredentials
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationVault
import MigrationWire

/// The options of `peer credentials`.
enum CredentialsCommand: Equatable, Sendable {
  /// List the credentials of an app and its clips; nil for all apps.
  case list(of: String?)
  /// Remove an owner's credentials, or only those with a label.
  case remove(CredentialOwner, label: String?)

  /// Parses the words after a command about credentials.
  init(_ verb: Verb, _ arguments: Arguments) throws(Failure) {
    switch verb {
    case .credentialsList:
      let isGiven = !arguments.operands.isEmpty
      let app = isGiven ? VisibleText.of(try arguments.operand(verb, "app", hint: AppCommand.hint)) : nil
      self = .list(of: app)
    case .credentialsRemove:
      let typed = try arguments.operand(verb, "owner", hint: Self.hint)
      guard let owner = CredentialOwner(stored: VisibleText.of(typed)) else {
        throw .usage("\(VisibleText.quoted(typed)) is not a valid owner of credentials", hint: Self.hint)
      }
      self = .remove(owner, label: try arguments.text("--label"))
    default: throw .noCommand(of: .credentials, arguments)
    }
  }

  static let hint = "Name an owner that 'peer credentials list' lists."
}

/// `peer credentials`: lists the stored credentials without their secrets, and removes them.
extension CredentialsCommand {
  /// Performs the command.
  func answer(json: Bool) throws(Failure) -> Rendering {
    switch self {
    case .list(let app):
      try Self.keepSecrets()
      let listing = try withVault { vault throws(Failure) in
        try vault.list { app == nil || [$0.app, $0.identifier, $0.name].contains(app) }
      }
      return json ? listing.lines : listing.table
    case .remove(let owner, let label):
      let count = try Self.remove(owner, label)
      if json { return .event("credentialsRemoved", ["owner": owner.name, "label": label, "count": count]) }
      let sentence = count == 1 ? "One credential of \(owner.name) is" : "\(count) credentials of \(owner.name) are"
      return Rendering(standardError: "\(sentence) removed.\n")
    }
  }

  private static func remove(_ owner: CredentialOwner, _ label: String?) throws(Failure) -> Int {
    let count: Int
    if let label {
      try keepSecrets()
      count = try withVault { vault throws(Failure) in try vault.remove(labelled: label, of: owner) }
    } else {
      count = try withVault { vault throws(Failure) in try vault.removeAll(of: owner) }
    }
    guard count > 0 else {
      let others = try withVault { vault throws(Failure) in try vault.owners() }
      let close = others.first { $0 != owner && $0.identifier == owner.identifier }
      let labelled = label.map { " with the label \(VisibleText.quoted($0))" } ?? ""
      throw Failure(
        .usage, "there are no credentials of \(owner.name)\(labelled)",
        hint: close.map { "Did you mean \($0.name)?" } ?? "'peer credentials list' lists them all.")
    }
    return count
  }

  /// Protects the process's memory; called before a key is read.
  private static func keepSecrets() throws(Failure) {
    try Failure.wrapping(Peer.protectMemory())
  }
}

extension CredentialVault.Listing {
  /// For a person: a table, and notes on credentials that cannot be opened.
  var table: Rendering {
    guard !items.isEmpty else { return Rendering(standardError: "There are no credentials.\n") }
    var notes: [String] = []
    if let obstacle { notes = [obstacle.description] + (obstacle.hint.map { [$0] } ?? []) }
    var rows = [["OWNER", "CLASS", "LABEL", "CHANGED"]]
    for item in items {
      if let found = item.item {
        let label = VisibleText.of(found.label ?? "")
        rows.append([item.owner.name, found.kind.word, label, CalendarTime.text(found.modified.seconds)])
      } else {
        rows.append([item.owner.name, obstacle == nil ? "damaged" : "sealed", "", ""])
        if obstacle == nil, let problem = item.problem { notes.append(problem) }
      }
    }
    return Rendering(
      standardError: notes.map { "peer: note: \($0)\n" }.joined(), standardOutput: Table.text(rows))
  }

  /// For a program: an object per line.
  var lines: Rendering {
    items.map { item in
      .event(
        "credential",
        [
          "owner": item.owner.name, "class": item.item.map { "\($0.kind)" }, "label": item.item?.label,
          "date": item.item.map { CalendarTime.text($0.modified.seconds) }, "problem": item.problem,
        ])
    }.reduce(Rendering(), +)
  }
}

extension CredentialItem.Kind {
  /// The kind for a person.
  fileprivate var word: String {
    switch self {
    case .genericPassword: "password"
    case .key: "key"
    }
  }
}

extension Completion.Candidate {
  /// An owner of credentials, for a shell's completions.
  init(_ owner: CredentialOwner) {
    self.init(word: owner.name, meaning: owner.suffix == nil ? "an app" : "the clip \(owner.identifier)")
  }
}

/// Works with the credentials of PEER_HOME.
func withVault<Value>(_ body: (CredentialVault) throws(Failure) -> Value) throws(Failure) -> Value {
  let vault = CredentialVault(home: try Home.path(), keys: CredentialVault.keysDirectory())
  return try body(vault)
}
