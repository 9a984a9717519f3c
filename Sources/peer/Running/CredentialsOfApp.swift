import MigrationCredentials
import MigrationHost
import MigrationSystem
import MigrationVault

/// An app's way to its credentials: the socket that leads to its broker, and the variable that says where it is.
struct CredentialsOfApp {
  private let socket: SharedDescriptor
  private let inode: UInt64

  /// The variable in which the app finds the socket's number and its inode; CCredentials reads it.
  private static let variable = "PEER_CREDENTIALS"

  /// Starts the broker for an app. This process becomes the app later, and has no other thread.
  init(_ bundle: AppBundle, home: String, keys: [UInt8]?) throws(SystemError) {
    let storage = CredentialVault(home: Array(home.utf8), keys: keys)
    let end = try CredentialBroker.start(for: CredentialPrincipal(bundle), storage: storage)
    socket = SharedDescriptor(end)
    inode = try socket.descriptor.status().inode
  }

  /// What the app's environment has besides.
  var variables: [String: String] { [Self.variable: "\(socket.raw):\(inode)"] }

  /// Lets the program that this process becomes have the socket.
  func keepOnExec() throws(SystemError) { try socket.descriptor.keepOnExec() }
}
