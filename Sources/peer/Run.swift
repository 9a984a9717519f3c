import MigrationArchive
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import PeerTransfer

/// Waits for another device and receives what it sends.
func runReceive(_ options: ReceiveOptions, _ output: Output) throws(TransferFailure) -> TransferResult {
  let interruption = try Interruption()
  prepareProcess()
  let home = try Home.path()
  let code = try options.codeFile.map { path throws(TransferFailure) in try CodeFile.read(path) }
  // This must precede all other threads.
  try confine(options, home: home, output)
  var receiving = Receiver.Options(options)
  let announcing = options.isAnnounced ? Announcing(label: receiving.label) { output.handle($0) } : nil
  receiving.announcer = announcing
  receiving.code = code
  // A code from a file is never replaced by a new one.
  if code == nil { receiving.restart = RestartEntry.asker(json: options.json, unless: interruption.raw) }
  if options.asks { try ConsentEntry.check() }
  let (isHome, canAsk) = (receivesAtHome(options), (try? Questioner()) != nil)
  if options.asks || isHome && canAsk {
    let entry = ConsentEntry(
      output: output, interruption: interruption.raw, asksAlways: options.asks, isHome: isHome)
    receiving.consent = { entry.ask($0, until: $1) }
  }
  // Threads may start after this.
  try interruption.watch()
  interruption.tell { _ in output.hurry() }
  let importer = try interruption.honoured { () throws(TransferFailure) in
    try Ends.importer(options, home: home, refusingRunning: isHome && !canAsk, until: interruption.early) {
      output.handle($0)
    }
  }
  let receiver = try Receiver(receiving, importer: importer, store: TransferStore(home: home)) { output.handle($0) }
  interruption.tell { kind in
    output.hurry()
    receiver.stop(kind)
  }
  defer { announcing?.end() }
  return try receiver.run()
}

/// Sends files and folders, or an app's data, to a device that waits for them.
func runSend(_ options: SendOptions, _ output: Output) throws(TransferFailure) -> TransferResult {
  // Ctrl-C still ends the program while patterns are typed.
  let selection = try Selection(options)
  let interruption = try Interruption()
  prepareProcess()
  let home = try Home.path()
  try interruption.watch()
  interruption.tell { _ in output.hurry() }
  let source = try interruption.honoured { () throws(TransferFailure) in
    try Ends.source(options, selection, home: home, until: interruption.early) { output.handle($0) }
  }
  // A stop that ends the program early may keep the source longer than this function.
  defer { (source as? AppSource)?.end() }
  let sender = Sender(Sender.Options(options), source: source, store: TransferStore(home: home)) { output.handle($0) }
  for warning in selection.warnings { output.handle(TransferEvent.notice(warning)) }
  // The sources are scanned while the code is being typed.
  try sender.prepare()
  interruption.tell { kind in
    output.hurry()
    sender.stop(kind)
  }
  let interruptions = [interruption.raw] + sender.endOfQuestion
  let choose = { (found: [Nearby]) throws(TransferFailure) -> Int in
    try ChoiceEntry.choose(among: found, output, unless: interruptions)
  }
  return try sender.run(choosing: choose) { (device) throws(TransferFailure) in
    try CodeEntry.read(options.code, of: device, output, unless: interruptions)
  }
}

/// Confines the writes of this process to PEER_HOME, where an app's data is too, and to the
/// destination of folders.
private func confine(_ options: ReceiveOptions, home: [UInt8], _ output: Output) throws(TransferFailure) {
  do {
    var directories = [try Directory.openOrMake(home, mode: 0o700).canonicalPath()]
    if options.app == nil { directories.insert(try destination(options).canonicalPath(), at: 0) }
    output.handle(try ReceiverConfinement().apply(to: directories))
  } catch let error as TransferFailure {
    throw error
  } catch {
    throw TransferFailure(.failed, "\(error)")
  }
}

/// Whether folders go into this user's home directory, and the user has not said that items that
/// can run commands are welcome there.
private func receivesAtHome(_ options: ReceiveOptions) -> Bool {
  guard options.app == nil, !options.takesRunning, let status = try? destination(options).status() else { return false }
  return [Environment.bytes("HOME"), CurrentProcess.homeDirectory].contains { home in
    guard let home, let other = try? Directory.status(of: home) else { return false }
    return (other.device, other.inode) == (status.device, status.inode)
  }
}

/// The destination, which is created if it is missing: only an existing directory can be the
/// boundary of writes.
private func destination(_ options: ReceiveOptions) throws(TransferFailure) -> Directory {
  try local { () throws(ArchiveError) in
    try StagingArea.openOrMake(options.directory ?? Array(".".utf8))
  }
}

private func local<Value: ~Copyable>(_ body: () throws(ArchiveError) -> Value) throws(TransferFailure) -> Value {
  do {
    return try body()
  } catch {
    throw TransferFailure(error)
  }
}

/// Raises the limit of descriptors for deep trees and several streams; if that fails, the present
/// limit has to do.
func prepareProcess() {
  _ = try? CurrentProcess.raiseDescriptorLimit()
  // A transfer may last for days, with thousands of sessions.
  CurrentProcess.keepLittleMemory()
}
