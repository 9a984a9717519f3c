import MigrationEngine
import MigrationSystem

/// Opens the socket that senders connect to.
struct ListeningWorker: Sendable {
  let setup: ReceiverSetup
  /// Where an unfinished transfer's sender expects this device.
  let rememberedPort: UInt16?

  func run() throws -> WorkerReport {
    let options = setup.options
    let socket = try ListeningSocket(
      options.listen, isPortChosen: options.isPortChosen, remembered: rememberedPort)
    let reachable = socket.reachableAddresses
    let listening = Listening(
      addresses: reachable.all.map(\.hostDescription), shown: reachable.shown.map(\.hostDescription),
      port: socket.port, from: options.from.map(\.description),
      // Where only this device can connect there is nothing to tell a network.
      isAnnounced: setup.helpers.announcer != nil && !socket.address.isLoopback)
    return WorkerReport(.listening(.success(listening)), bringing: .listening(Handover(socket)))
  }
}
