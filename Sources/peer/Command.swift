import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// What the command line asks for.
enum Command: Equatable, Sendable {
  case receive(ReceiveOptions)
  case send(SendOptions)
  /// Show the devices on the network that wait.
  case discover(DiscoverOptions)
  /// Show what is unfinished.
  case resumeList(json: Bool)
  /// Give up what is unfinished: the transfer whose identifier begins with these digits.
  case forget(String, json: Bool)
  /// Something about the apps of this device.
  case app(AppCommand)
  /// Something about what apps have stored in secret.
  case credentials(CredentialsCommand)
  /// Something about the state of a user's sign-in.
  case account(AccountCommand)
  /// Make a code for two devices: in a new file, or on standard output.
  case newCode(file: [UInt8]?)
  /// A help text: of a verb, or of the whole program.
  case help(Verb?)
  /// A page of the manual.
  case manual(ManualPage)
  /// What a shell reads to complete what is typed.
  case completion(Shell)
  /// What can stand at the end of a line that is being typed.
  case complete(Completion.Request)
  case version
  /// Nothing was asked for.
  case nothing
}

/// What `peer app` was told.
enum AppCommand: Equatable, Sendable {
  /// The path of a bundle.
  case install([UInt8], json: Bool)
  case list(json: Bool)
  case remove(String, credentials: Bool, json: Bool)
  case status(String, clear: Bool, json: Bool)
  /// What stands behind the identifier is the app's affair.
  case run(String, arguments: [[UInt8]])
  /// Make a package of a new app.
  case new(NewAppOptions)
  case check(CheckOptions)
  case migrate(MigrateOptions)
}

/// What `peer receive` was told.
struct ReceiveOptions: Equatable, Sendable {
  /// Where to put what arrives; nil for the current directory.
  var directory: [UInt8]?
  /// The app whose data is wanted, instead of folders.
  var app: AppReceiveOptions?
  /// Whether the person at the terminal is asked about what is offered.
  var asks = false
  /// Whether it takes one transfer after the other, until it is stopped.
  var keeps = false
  /// The file with the code that the sender has too; nil for a code that is shown.
  var codeFile: [UInt8]?
  /// Whether owners and groups are kept as the sender names them.
  var owners = false
  /// Whether set-user-id and set-group-id bits are kept.
  var setIDBits = false
  /// What becomes of names that are taken; nil for what was said when the transfer began, or a refusal.
  var existing: Existing?
  /// The most bytes that are taken of one transfer; nil for as many as there is room for.
  var mostBytes: UInt64?
  /// Where to listen; nil for the usual port at every address.
  var listen: HostAndPort?
  /// Where senders may pair from; from everywhere, if there is no range.
  var from: [AddressRange] = []
  /// Whether this device is made known on its networks, so that senders need no address.
  var isAnnounced = true
  /// What this device calls itself; nil for its host name.
  var label: String?
  /// For how many seconds a lost connection may stay lost.
  var giveUpAfter = Patience.standard
  /// Whether all useful addresses are shown.
  var isVerbose = false
  /// Whether a program reads the output.
  var json = false
}

/// What `peer receive --app` was told of the app.
struct AppReceiveOptions: Equatable, Sendable {
  var identifier: String
  /// What the exporter is told of this device; nil for what it is.
  var platform: String?
  /// For the exporter, each name once.
  var options: [AppRequest.Option] = []
  /// Whether data that the app has is set aside.
  var replaces = false
  /// Whether the extension is kept from what it need not reach; its author may want that otherwise.
  var isConfined = true
  /// The path of the bundle that the app was just installed from, if its author tries it.
  var draft: [UInt8]?
}

/// What `peer send` was told.
struct SendOptions: Equatable, Sendable {
  /// Paths without trailing slashes; each has a name, and no two have the same. At least one, if there is no app.
  var sources: [[UInt8]]
  /// The app whose data is sent, instead of folders.
  var app: String?
  /// What the app's data is said to be; nil for what its bundle says.
  var claim: SourceClaim?
  /// For how long an app's exporter may append nothing.
  var idleLimit = IdleLimit.standard
  /// Whether an app's extension is kept from what it need not reach; its author may want that otherwise.
  var isConfined = true
  /// Whether owners and groups are sent.
  var owners = false
  /// What of the sources is left out, in the order in which it was said; of folders only.
  var exclusions: [ExclusionSource] = []
  /// Whether what directories hold that are marked as caches is left out; of folders only.
  var isWithoutCaches = false
  /// Whether the data is compressed on its way.
  var compression = CompressionPreference.auto
  /// How many bytes are sent in a second at most; nil for as many as go.
  var limit: UInt64?
  /// How many data streams carry them; nil for as many as help.
  var streams: UInt32?
  /// The other device, whose host is never nil and its port never zero; nil for one that waits in this network.
  var to: HostAndPort?
  /// Where the code comes from.
  var code = CodeSource.prompt
  /// What this device calls itself; nil for its host name.
  var label: String?
  /// For how many seconds a lost connection may stay lost.
  var giveUpAfter = Patience.standard
  /// Whether a program reads the output.
  var json = false
}

/// Where patterns of what is left out come from.
enum ExclusionSource: Equatable, Sendable {
  /// The command line: one pattern as it is.
  case pattern([UInt8])
  /// The lines of a file.
  case file([UInt8])
  /// The lines of standard input.
  case standardInput
}

/// Where the sender's code comes from.
enum CodeSource: Equatable, Sendable {
  /// A person at the terminal.
  case prompt
  /// The first line of standard input.
  case standardInput
  /// The first line of a file.
  case file([UInt8])
}

/// How long a transfer waits for the other device.
enum Patience {
  /// Ten minutes, in seconds.
  static let standard: Double = 600
  /// A month: more is a slip of the finger.
  static let longest: Double = 30 * 24 * 3600
}
