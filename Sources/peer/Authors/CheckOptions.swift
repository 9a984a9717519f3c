import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// What `peer app check` was told.
struct CheckOptions: Equatable, Sendable {
  /// The path of the bundle.
  var bundle: [UInt8]
  /// What takes the place of the app's container; nil for the container of the app, if it is installed.
  var container: [UInt8]?
  /// For how long the exporter may append nothing.
  var idleLimit = IdleLimit.standard
  /// Whether the extension is kept from what it need not reach.
  var isConfined = true
  /// Whether a program reads the output.
  var json = false
}

/// What `peer app migrate` was told.
struct MigrateOptions: Equatable, Sendable {
  /// The app whose data is migrated.
  var identifier: String
  /// The path of the bundle of the app that gets it.
  var bundle: [UInt8]
  /// The PEER_HOME of the app that gets it; nil for a new one.
  var home: [UInt8]?
  /// What the data is said to be; nil for what the app's bundle says.
  var claim: SourceClaim?
  /// For the exporter, each name once.
  var options: [AppRequest.Option] = []
  /// Whether data that the app which gets it has is set aside.
  var replaces = false
  /// For how long the exporter may append nothing.
  var idleLimit = IdleLimit.standard
  /// Whether the extensions are kept from what they need not reach.
  var isConfined = true
  /// Whether a program reads the output.
  var json = false
}

extension CheckOptions {
  /// Understands what stands behind `peer app check`.
  init(_ arguments: Arguments) throws(TransferFailure) {
    bundle = try arguments.operand(.appCheck, "bundle", hint: "name the directory of an app's bundle")
    container = arguments.bytes("--container")
    idleLimit = try arguments.idleLimit() ?? .standard
    isConfined = !arguments.has("--no-confine")
    json = arguments.has("--json")
  }
}

extension MigrateOptions {
  /// Understands what stands behind `peer app migrate`.
  init(_ arguments: Arguments) throws(TransferFailure) {
    identifier = VisibleText.of(try arguments.operand(.appMigrate, "app", hint: AppCommand.hint))
    guard let bundle = arguments.bytes("--to") else {
      throw .usage(
        "--to, the bundle of the other app, is missing",
        hint: "name the directory of its bundle, as in --to ./Notes.app")
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

  /// What the end that exports is told.
  var sending: SendOptions {
    var sending = SendOptions(sources: [])
    sending.app = identifier
    sending.claim = claim
    sending.idleLimit = idleLimit
    sending.isConfined = isConfined
    return sending
  }

  /// What the end that imports is told: to listen on this device alone, at a port of the kernel's choice.
  func receiving(as identifier: String, from bundle: [UInt8]) -> ReceiveOptions {
    var app = AppReceiveOptions(identifier: identifier)
    app.draft = bundle
    app.options = options
    app.replaces = replaces
    app.isConfined = isConfined
    var receiving = ReceiveOptions()
    receiving.app = app
    receiving.listen = HostAndPort(host: BothEnds.host, port: 0)
    receiving.isAnnounced = false
    return receiving
  }
}
