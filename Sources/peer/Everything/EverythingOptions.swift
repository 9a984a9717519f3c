import MigrationApps
import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// The options of `peer send --everything`.
struct EverythingOptions: Equatable, Sendable {
  /// Another home on this device; nil for this user's home.
  var home: [UInt8]?
  /// The names of entries that do not move.
  var skipped: [[UInt8]] = []
  /// The only apps that move, in this order; empty for the apps that move by default.
  var apps: [String] = []
  /// Whether the plan is only shown.
  var isDry = false
  /// Whether the program waits until a person has closed an app, also without a terminal.
  var waits = false
}

extension EverythingOptions {
  /// Reads the options of `peer send --everything`; nil without it.
  init?(_ arguments: Arguments, apps: [String]) throws(Failure) {
    guard arguments.has("--everything") else {
      for option in ["--home", "--skip", "--dry-run", "--wait"] where arguments.isGiven(option) {
        throw .usage("\(option) requires --everything", hint: "Add --everything, or remove \(option).")
      }
      return nil
    }
    if let path = arguments.operands.first {
      throw .usage(
        "unexpected argument \(VisibleText.quoted(path)): --everything takes no path",
        hint: "Leave items out with --skip, or name another home with --home.")
    }
    for option in ["--exclude", "--exclude-from", "--exclude-caches", "--one-file-system", "--owners"]
    where arguments.isGiven(option) {
      throw .usage("\(option) cannot be used with --everything", hint: "Leave items out with --skip.")
    }
    home = arguments.bytes("--home")
    skipped = arguments.all("--skip")
    self.apps = apps
    isDry = arguments.has("--dry-run")
    waits = arguments.has("--wait")
  }
}

extension ReceiveOptions {
  /// Reads the options of `peer receive --everything`.
  mutating func takeEverything(_ arguments: Arguments) throws(Failure) {
    takesEverything = true
    for option in ["--app", "--platform", "--option"] where arguments.isGiven(option) {
      throw .usage("\(option) cannot be used with --everything", hint: "Remove one of them.")
    }
    if arguments.isGiven("--existing") {
      throw .usage(
        "--existing cannot be used with --everything",
        hint: "Remove it: nothing that exists is changed. --replace is for the data of apps.")
    }
    if arguments.has("--keep") {
      throw .usage(
        "--keep cannot be used with --everything", hint: "Remove --keep: a computer is moved once, from one device.")
    }
    importing.replaces = arguments.has("--replace")
  }

  /// The path of the destination.
  var place: [UInt8] {
    get throws(Failure) {
      if let directory { return directory }
      return takesEverything ? try Home.ofUser(hint: "Name the directory to receive into.") : Array(".".utf8)
    }
  }
}
