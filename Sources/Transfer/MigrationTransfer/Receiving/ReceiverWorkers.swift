import MigrationEngine
import MigrationSystem
import MigrationWire

/// The work of a run's workers, besides that of its connections and transfers.
extension ReceiverSetup {
  /// Opens the socket that senders connect to.
  func listen(_ rememberedPort: UInt16?) throws -> ReceiverPerformer.WorkerReport {
    if options.keepsPairings {
      for device in try store?.devices(as: .receiver, options.knownDevices).reversed() ?? [] {
        meetings.note(device.peer, device.meeting)
      }
    }
    let socket = try ListeningSocket(options.listen, isPortChosen: options.isPortChosen, remembered: rememberedPort)
    let reachable = socket.reachableAddresses
    let listening = Listening(
      addresses: reachable.map(\.hostDescription), shown: reachable.worthShowing.map(\.hostDescription),
      port: socket.port, from: options.from.map(\.description),
      // Where only this device can connect there is nothing to announce.
      isAnnounced: helpers.announcer != nil && !socket.address.isLoopback,
      isInTunnels: reachable.worthShowing.areInTunnels(of: (try? NetworkInterface.all()) ?? []))
    return Report(.listening(.success(listening)), bringing: .listening(Handover(socket)))
  }

  /// Asks the user of this device. The question ends when `ending` is signalled.
  func ask(_ question: ReceiverEngine.Question, until ending: Wakeup) -> ReceiverPerformer.WorkerReport {
    guard case .consent(let asked, let client) = question else {
      return Report(.answered(helpers.restart?(ending.raw)))
    }
    switch helpers.consent?(asked, ending.raw) {
    case nil: return Report(.answered(nil))
    case .no?:
      try? store?.changingDevices { try store?.unexpect(client, as: .receiver) }
      return Report(.answered(false))
    case .yes(let taken, let removals)?: return Report(.answered(true, taking: taken, removals: removals))
    }
  }
}
