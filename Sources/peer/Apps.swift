import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// `peer app`: the apps of this device.
enum Apps {
  /// Performs the command, and returns the program's exit code.
  static func perform(_ command: AppCommand) -> Int32 {
    switch command {
    case .install(let bundle, let json):
      Answer.give(json: json) { () throws(TransferFailure) in
        let installation = try withApps { home throws(HostError) in try home.install(bundle) }
        return json ? installation.line : installation.sentence
      }
    case .list(let json): Answer.give(json: json) { () throws(TransferFailure) in try list(json: json) }
    case .remove(let identifier, let credentials, let json):
      Answer.give(json: json) { () throws(TransferFailure) in
        var left = try withApps { home throws(HostError) in
          let left = CredentialsLeft(by: identifier, in: home)
          try home.remove(identifier)
          return left
        }
        if credentials { try left.remove() }
        return removed(left, json: json)
      }
    case .status(let identifier, let clear, let json):
      Answer.give(json: json) { () throws(TransferFailure) in
        try status(identifier, clear: clear, json: json)
      }
    case .new(let options):
      Answer.give(json: options.json) { () throws(TransferFailure) in try NewApp.make(options) }
    case .run(let identifier, let arguments):
      Answer.give(json: false) { () throws(TransferFailure) in throw run(identifier, arguments) }
    case .check(let options): Checking.perform(options)
    case .migrate(let options): Migrating.perform(options)
    }
  }

  private static func list(json: Bool) throws(TransferFailure) -> Rendering {
    try withApps { home throws(HostError) in
      let listing = try home.list()
      var states: [AppState] = []
      for app in listing.apps { states.append(try AppState(app)) }
      return json
        ? AppState.lines(states, listing.damaged)
        : AppState.table(states, listing.damaged, now: Timestamp.coarseNow().seconds)
    }
  }

  private static func status(_ identifier: String, clear: Bool, json: Bool) throws(TransferFailure) -> Rendering {
    try withApps { home throws(HostError) in
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
  private static func run(_ identifier: String, _ arguments: [[UInt8]]) -> TransferFailure {
    do {
      return try withApps { home throws(HostError) in
        let started = try home.start(identifier)
        if let clip = started.replacedClip {
          StandardStream.error.write(
            "peer: note: the app \(started.app.identifier) has replaced its clip \(clip), and is started instead\n")
        }
        if started.hasUndoneImport {
          StandardStream.error.write("peer: note: an interrupted import has been undone\n")
        }
        if started.app.countStart() {
          StandardStream.error.write(
            "peer: note: this is the third start since the last import, and the app has not cleared its result; "
              + "it gets the same result until it calls MigrationStatus.clearImportStatus()\n")
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
