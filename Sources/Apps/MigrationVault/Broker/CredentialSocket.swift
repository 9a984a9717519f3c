import MigrationCredentials
package import MigrationHost
package import MigrationSystem

/// An app's access to its credentials: the socket of its broker, and the variable that names it.
package struct CredentialSocket {
  private let socket: SharedDescriptor
  private let inode: UInt64

  /// The variable with the socket's number and inode; CCredentials reads it.
  private static let variable = "PEER_CREDENTIALS"

  /// Starts the broker for an app. This process, which becomes the app later, has no other thread.
  package init(_ bundle: AppBundle, home: String, keys: [UInt8]?) throws(SystemError) {
    let storage = CredentialVault(home: Array(home.utf8), keys: keys)
    let end = try CredentialBroker.start(for: CredentialPrincipal(bundle), storage: storage)
    socket = SharedDescriptor(end)
    inode = try socket.descriptor.status().inode
  }

  /// The additional variables of the app's environment.
  package var variables: [String: String] { [Self.variable: "\(socket.raw):\(inode)"] }

  /// Keeps the socket open in the program that this process becomes.
  package func keepOnExec() throws(SystemError) { try socket.descriptor.keepOnExec() }
}
