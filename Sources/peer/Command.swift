import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// A parsed command line.
enum Command: Equatable, Sendable {
  case receive(ReceiveOptions)
  case send(SendOptions)
  /// List the waiting devices on the network.
  case discover(DiscoverOptions)
  /// List the unfinished transfers.
  case resumeList(json: Bool)
  /// Forget the unfinished transfer whose identifier begins with these digits.
  case forget(String, json: Bool)
  /// A command about the apps of this device.
  case app(AppCommand)
  /// A command about the credentials of apps.
  case credentials(CredentialsCommand)
  /// A command about the recorded sign-in of users.
  case account(AccountCommand)
  /// Create a code for two devices: in a new file, or on standard output.
  case newCode(file: [UInt8]?)
  /// A help text: of a command, or of the whole program.
  case help(Verb?)
  /// A page of the manual.
  case manual(ManualPage)
  /// A shell's script for completions.
  case completion(Shell)
  /// The completions of an unfinished command line.
  case complete(Completion.Request)
  case version
  /// An empty command line.
  case nothing
}

/// The options of `peer app`.
enum AppCommand: Equatable, Sendable {
  /// The path of a bundle.
  case install([UInt8], json: Bool)
  case list(json: Bool)
  case remove(String, credentials: Bool, json: Bool)
  case status(String, clear: Bool, json: Bool)
  /// The arguments are for the app.
  case run(String, arguments: [[UInt8]])
  /// Create the package of a new app.
  case new(NewAppOptions)
  case check(CheckOptions)
  case migrate(MigrateOptions)
}

/// The options of `peer receive`.
struct ReceiveOptions: Equatable, Sendable {
  /// The destination; nil for the current directory.
  var directory: [UInt8]?
  /// The app whose data is received, instead of folders.
  var app: AppReceiveOptions?
  /// Whether the person at the terminal has to accept the offer.
  var asks = false
  /// Whether a home directory takes items that begin with a dot without a question.
  var takesRunning = false
  /// Whether it receives one transfer after another, until it is stopped.
  var keeps = false
  /// The file with the code that the sender has too; nil to show a code.
  var codeFile: [UInt8]?
  /// Whether the sender's owners and groups are kept.
  var owners = false
  /// Whether set-user-id and set-group-id bits are kept.
  var setIDBits = false
  /// The action for names that are taken; nil for the action of the interrupted transfer, or
  /// `refuse`.
  var existing: Existing?
  /// The most bytes that a transfer may have; nil for as many as fit.
  var mostBytes: UInt64?
  /// The address to listen on; nil for the default port at every address.
  var listen: HostAndPort?
  /// The addresses from which senders may pair; empty for all addresses.
  var from: [AddressRange] = []
  /// Whether this device announces itself on its networks, so that senders need no address.
  var isAnnounced = true
  /// The name that this device gives itself; nil for its host name.
  var label: String?
  /// The seconds to wait for the sender to reconnect.
  var giveUpAfter = Patience.standard
  /// Whether all useful addresses are shown.
  var isVerbose = false
  /// Whether a program reads the output.
  var json = false
}

/// The options of `peer receive --app`.
struct AppReceiveOptions: Equatable, Sendable {
  var identifier: String
  /// The platform that the exporter is given for this device; nil for the real one.
  var platform: String?
  /// The options for the exporter; no name occurs twice.
  var options: [AppRequest.Option] = []
  /// Whether existing data of the app is set aside.
  var replaces = false
  /// Whether the extension is confined; its author may turn that off.
  var isConfined = true
  /// The path of the bundle from which an author has just installed the app to try it.
  var draft: [UInt8]?
}

/// The options of `peer send`.
struct SendOptions: Equatable, Sendable {
  /// Paths without trailing slashes; each has a name, and no name occurs twice. At least one,
  /// unless there is an app.
  var sources: [[UInt8]]
  /// The app whose data is sent, instead of folders.
  var app: String?
  /// The claimed source of the app's data; nil for that of its bundle.
  var claim: SourceClaim?
  /// The time in which an app's exporter may append nothing.
  var idleLimit = IdleLimit.standard
  /// Whether an app's extension is confined; its author may turn that off.
  var isConfined = true
  /// Whether owners and groups are sent.
  var owners = false
  /// The exclusions in the order in which they were given; for folders only.
  var exclusions: [ExclusionSource] = []
  /// Whether the contents of directories that are marked as caches are excluded; for folders only.
  var isWithoutCaches = false
  /// When data is compressed in transit.
  var compression = CompressionPreference.auto
  /// The most bytes sent per second; nil for no limit.
  var limit: UInt64?
  /// The number of data streams; nil for the best number.
  var streams: UInt32?
  /// The other device, whose host is never nil and whose port is never zero; nil for a device that
  /// waits on this network.
  var to: HostAndPort?
  /// The source of the code.
  var code = CodeSource.prompt
  /// The name that this device gives itself; nil for its host name.
  var label: String?
  /// The seconds to try to reconnect.
  var giveUpAfter = Patience.standard
  /// Whether a program reads the output.
  var json = false
}

/// The source of exclusion patterns.
enum ExclusionSource: Equatable, Sendable {
  /// One pattern on the command line.
  case pattern([UInt8])
  /// The lines of a file.
  case file([UInt8])
  /// The lines of standard input.
  case standardInput
}

/// The source of the sender's code.
enum CodeSource: Equatable, Sendable {
  /// A person at the terminal.
  case prompt
  /// The first line of standard input.
  case standardInput
  /// The first line of a file.
  case file([UInt8])
}

/// The time that a transfer waits for the other device.
enum Patience {
  /// Ten minutes, in seconds.
  static let standard: Double = 600
  /// A month: a longer time is a typing error.
  static let longest: Double = 30 * 24 * 3600
}
