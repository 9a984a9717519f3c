import MigrationArchive
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// Waits for another device and receives what it sends.
func runReceive(_ options: ReceiveOptions, _ output: Output) throws(TransferFailure) -> TransferResult {
  let interruption = try Interruption()
  prepareProcess()
  let sink = try local { () throws(ArchiveError) in
    try FolderSink(destination: options.directory ?? Array(".".utf8))
  }
  let receiver = try Receiver(
    Receiver.Options(
      listen: options.listen ?? HostAndPort(host: nil, port: Limits.defaultPort), isPortChosen: options.listen != nil,
      label: label(options.label), software: software, giveUpAfter: options.giveUpAfter),
    sink: sink, store: TransferStore(home: try Home.path())
  ) { output.handle($0) }
  try interruption.watch { receiver.stop($0) }
  return try receiver.run()
}

/// Sends files and folders to a device that waits for them.
func runSend(_ options: SendOptions, _ output: Output) throws(TransferFailure) -> TransferResult {
  let interruption = try Interruption()
  prepareProcess()
  let source = try local { () throws(ArchiveError) in try FolderSource(paths: options.sources) }
  let sender = Sender(
    Sender.Options(
      target: options.to, label: label(options.label), software: software, giveUpAfter: options.giveUpAfter),
    source: source, store: TransferStore(home: try Home.path())
  ) { output.handle($0) }
  // The sources are walked while the code is being typed.
  try sender.prepare()
  try interruption.watch { sender.stop($0) }
  return try sender.run { () throws(TransferFailure) in
    try CodeEntry.read(options.code, output, unless: [interruption.raw])
  }
}

private let software = "peer \(Version.current)"

/// What this device calls itself: what the user said, or its host name.
private func label(_ chosen: String?) -> String {
  var label = chosen ?? (try? CurrentProcess.hostName()) ?? "a device"
  while label.utf8.count > Limits.label { label.removeLast() }
  return label
}

/// Deep trees and several streams need descriptors; where the limit cannot be raised, the usual one has to do.
private func prepareProcess() {
  _ = try? CurrentProcess.raiseDescriptorLimit()
}

private func local<Value>(_ body: () throws(ArchiveError) -> Value) throws(TransferFailure) -> Value {
  do {
    return try body()
  } catch {
    throw TransferFailure(error)
  }
}
