import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The options of `peer app`.
enum AppCommand: Equatable, Sendable {
  /// The path of a bundle.
  case install([UInt8])
  /// With `all`, also apps of files.
  case list(all: Bool)
  case remove(String, credentials: Bool)
  case status(String, clear: Bool)
  /// The arguments are for the app.
  case run(String, arguments: [[UInt8]])
  /// Create the package of a new app.
  case new(NewAppOptions)
}

/// `peer app`: the apps of this device.
extension AppCommand {
  /// Performs the command.
  func answer(json: Bool) throws(Failure) -> Rendering {
    switch self {
    case .install(let bundle):
      let installation = try withApps { home throws(Failure) in try home.install(bundle) }
      return json ? installation.line : installation.sentence
    case .list(let all): return try all ? Self.listAll(json: json) : Self.list(json: json)
    case .remove(let identifier, let credentials):
      var left = try withApps { home throws(Failure) in
        let left = CredentialsLeft(by: identifier, in: home)
        try home.remove(identifier)
        return left
      }
      if credentials { try left.remove() }
      return Self.removed(left, json: json)
    case .status(let identifier, let clear): return try Self.state(of: identifier, clear: clear, json: json)
    case .new(let options): return try options.make(json: json)
    case .run(let identifier, let arguments): throw Self.run(identifier, arguments)
    }
  }

  private static func list(json: Bool) throws(Failure) -> Rendering {
    let (states, damaged) = try installed()
    return json
      ? AppState.lines(states, damaged) : AppState.table(states, damaged, now: Timestamp.coarseNow().seconds)
  }

  private static func installed() throws(Failure) -> ([AppState], [AppHome.Damaged]) {
    try withApps { home throws(Failure) in
      let listing = try home.list()
      var states: [AppState] = []
      for app in listing.apps { states.append(try AppState(app)) }
      return (states, listing.damaged)
    }
  }

  private static func listAll(json: Bool) throws(Failure) -> Rendering {
    let (states, damaged) = try installed()
    let apps = try AllApps(states, damaged, records: try Home.path())
    return json ? apps.lines : apps.table
  }

  private static func state(of identifier: String, clear: Bool, json: Bool) throws(Failure) -> Rendering {
    try withApps { home throws(Failure) in
      guard clear else {
        let state = try AppState(try home.app(identifier))
        return json ? state.statusLine(cleared: false) : state.statusText(cleared: false)
      }
      // The record of a running import must stay.
      let (app, lock) = try home.app(identifier, for: .running)
      defer { withExtendedLifetime(lock) {} }
      var state = try AppState(app)
      state.holder = nil
      try app.clearImportRecord()
      return json ? state.statusLine(cleared: true) : state.statusText(cleared: true)
    }
  }

  /// Becomes the app; returns only after a failure.
  private static func run(_ identifier: String, _ arguments: [[UInt8]]) -> Failure {
    do {
      return try withApps { home throws(Failure) in
        let started = try home.start(identifier)
        if let clip = started.replacedClip {
          StandardStream.error.write(
            "peer: note: the app \(started.app.identifier) has replaced its clip \(clip), and is started instead\n")
        }
        if started.hasUndoneImport {
          StandardStream.error.write("peer: note: an interrupted import has been undone\n")
        }
        return AppStart.become(started, arguments, in: home)
      }
    } catch {
      return error
    }
  }

  private static func removed(_ left: CredentialsLeft, json: Bool) -> Rendering {
    guard json else {
      return Rendering(standardError: "\(left.identifier) and its data are removed.\n" + left.sentence)
    }
    return .event("removed", ["id": left.identifier, "credentials": left.outcome.rawValue])
  }
}

extension AppHome.Installation {
  fileprivate var sentence: Rendering {
    let former = previousVersion.map { ", replacing \(VisibleText.of($0))" } ?? ""
    let notes = app.bundle.notes.map { "peer: note: \($0)\n" }
    return Rendering(
      standardError: notes.joined()
        + "Installed \(app.identifier) \(VisibleText.of(app.bundle.version))\(former).\n" + replaced + noteOnCredentials
    )
  }

  fileprivate var line: Rendering {
    .event(
      "installed",
      [
        "id": app.identifier, "version": app.bundle.version, "previousVersion": previousVersion,
        "ignoredExtensions": app.bundle.otherExtensions, "earlierCredentials": hasEarlierCredentials,
      ] + roleMembers)
  }
}

extension AppCommand {
  /// Parses the words after a command about apps, except `peer app run`, `check` and `migrate`.
  init(_ verb: Verb, _ arguments: Arguments) throws(Failure) {
    switch verb {
    case .appInstall:
      self = .install(try arguments.operand(verb, "bundle", hint: "Name the directory of an app's bundle."))
    case .appList:
      try arguments.refuseOperands()
      self = .list(all: arguments.has("--all"))
    case .appRemove:
      self = .remove(try Self.identifier(arguments, verb), credentials: arguments.has("--credentials"))
    case .appStatus:
      self = .status(try Self.identifier(arguments, verb), clear: arguments.has("--clear"))
    case .appNew: self = .new(try NewAppOptions(arguments))
    default: throw .noCommand(of: .app, arguments)
    }
  }

  private static func identifier(_ arguments: Arguments, _ verb: Verb) throws(Failure) -> String {
    VisibleText.of(try arguments.operand(verb, "app", hint: Self.hint))
  }

  static let hint = "Name an app by its identifier; 'peer app list' lists the installed apps."
}

extension Arguments {
  /// The only operand of a command.
  func operand(_ verb: Verb, _ what: String, hint: String) throws(Failure) -> [UInt8] {
    guard let operand = operands.first, !operand.isEmpty else {
      throw .usage("missing argument: \(what)", hint: hint)
    }
    guard operands.count == 1 else {
      throw .usage(
        "unexpected argument \(VisibleText.quoted(operands[1])): 'peer \(verb.rawValue)' takes one \(what)",
        verb)
    }
    return operand
  }
}

extension Command {
  /// Parses the words after `peer app run`. The program's own options come before the identifier;
  /// all words after it go to the app.
  static func run(_ words: [[UInt8]]) throws(Failure) -> Command {
    var words = words[...]
    if let first = words.first, first.first == UInt8(ascii: "-"), first != Array("--".utf8) {
      if try Arguments([first], of: .appRun).has("--help") { return .help(.appRun) }
    }
    if words.first == Array("--".utf8) { words.removeFirst() }
    guard let identifier = words.popFirst(), !identifier.isEmpty else {
      throw .usage("missing argument: app", hint: AppCommand.hint)
    }
    return .app(.run(VisibleText.of(identifier), arguments: Array(words)), json: false)
  }
}
