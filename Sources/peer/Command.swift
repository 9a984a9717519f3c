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
