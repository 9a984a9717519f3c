import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The options of `peer app check`.
struct CheckOptions: Equatable, Sendable {
  /// The path of the bundle.
  var bundle: [UInt8]
  /// The directory used instead of the app's container; nil for the container of the app, if it is
  /// installed.
  var container: [UInt8]?
  /// The time in which the exporter may append nothing.
  var idleLimit = IdleLimit.standard
  /// Whether the extension is confined.
  var isConfined = true
  /// Whether a program reads the output.
  var json = false
}

/// The options of `peer app migrate`.
struct MigrateOptions: Equatable, Sendable {
  /// The app whose data is migrated.
  var identifier: String
  /// The path of the receiving app's bundle.
  var bundle: [UInt8]
  /// The PEER_HOME of the receiving app; nil for a new one.
  var home: [UInt8]?
  /// The claimed source of the data; nil for that of the app's bundle.
  var claim: SourceClaim?
  /// The options for the exporter; no name occurs twice.
  var options: [AppRequest.Option] = []
  /// Whether existing data of the receiving app is set aside.
  var replaces = false
  /// The time in which the exporter may append nothing.
  var idleLimit = IdleLimit.standard
  /// Whether the extensions are confined.
  var isConfined = true
  /// Whether a program reads the output.
  var json = false
}

extension CheckOptions {
  /// Parses the words after `peer app check`.
  init(_ arguments: Arguments) throws(TransferFailure) {
    bundle = try arguments.operand(.appCheck, "bundle", hint: "name the directory of an app's bundle")
    container = arguments.bytes("--container")
    idleLimit = try arguments.idleLimit() ?? .standard
    isConfined = !arguments.has("--no-confine")
    json = arguments.has("--json")
  }
}

extension MigrateOptions {
  /// Parses the words after `peer app migrate`.
  init(_ arguments: Arguments) throws(TransferFailure) {
    identifier = VisibleText.of(try arguments.operand(.appMigrate, "app", hint: AppCommand.hint))
    guard let bundle = arguments.bytes("--to") else {
      throw .usage(
        "missing required option --to",
        hint: "name the bundle of the receiving app, as in --to ./Notes.app")
    }
    self.bundle = bundle
    home = arguments.bytes("--home")
    claim = try arguments.claim()
    options = try arguments.requestOptions(.appMigrate)
    replaces = arguments.has("--replace")
    idleLimit = try arguments.idleLimit() ?? .standard
    isConfined = !arguments.has("--no-confine")
    json = arguments.has("--json")
  }

  /// The options of the exporting end.
  var sending: SendOptions {
    var sending = SendOptions(sources: [])
    sending.app = identifier
    sending.claim = claim
    sending.idleLimit = idleLimit
    sending.isConfined = isConfined
    return sending
  }

  /// The options of the importing end: it listens only on this device, at a port that the kernel
  /// chooses.
  func receiving(as identifier: String, from bundle: [UInt8]) -> ReceiveOptions {
    var app = AppReceiveOptions(identifier: identifier)
    app.importing.draft = bundle
    app.importing.requested = options
    app.importing.replaces = replaces
    app.importing.isConfined = isConfined
    return ReceiveOptions(
      app: app, isAnnounced: false,
      transfer: Receiver.Options(listen: HostAndPort(host: BothEnds.host, port: 0)))
  }
}
