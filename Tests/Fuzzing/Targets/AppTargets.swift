import FoundationEssentials
import FuzzDriver
import MigrationSystem
import MigrationWire

@testable import MigrationHost

extension FuzzTarget {
  /// Messages and files of apps and their bundles.
  static let apps = [
    FuzzTarget("extension", "messages between a host and an extension", longest: 512) { checkMessages(Array($0)) },
    FuzzTarget("packets", "packets of the channel to an extension", longest: 512) { checkPackets($0) },
    FuzzTarget("bundles", "property lists of bundles", longest: 1024, memory: 8192) { checkPropertyList(Array($0)) },
    FuzzTarget("records", "records of apps in PEER_HOME", longest: 512) { checkRecords(Array($0)) },
    FuzzTarget("credentials", "requests for credentials, and the answers", longest: 512) {
      checkCredentials(Array($0))
    },
    FuzzTarget("broker", "the broker of credentials", longest: 32) { input in
      var walk = BrokerWalk(input)
      walk.run()
    },
    FuzzTarget("vault", "the files of the store of credentials", longest: 512, memory: 4096) {
      VaultCheck.shared.run($0)
    },
  ]
}

/// Fields of later editions are ignored, and long texts are cut, so that messages are compared as
/// values. A message that can be read is written as one that reads as equal.
private func checkMessages(_ bytes: [UInt8]) {
  if let message = read({ try HostMessage(bytes) }) {
    let encoded = message.encoded
    promise(read { try HostMessage(encoded) } == message, "a message of the host is written as another one")
    promise(encoded.count <= bytes.count + 16, "a message of the host takes more bytes than it was read from")
  }
  if let message = read({ try ExtensionMessage(bytes) }) {
    let encoded = message.encoded
    promise(read { try ExtensionMessage(encoded) } == message, "a message of the extension is written as another one")
    promise(encoded.count <= bytes.count + 16, "a message of the extension takes more bytes than it was read from")
  }
}

/// Packets on a real socket. A message consists of the packets without their first bytes; a wrong
/// packet is refused.
private func checkPackets(_ input: ArraySlice<UInt8>) {
  do {
    var pair = try PacketSocket.pair()
    let sender = pair.takeOne()
    var channel = Channel(pair.takeOther())
    var bytes = InputBytes(input)
    var messages: [[UInt8]] = []
    var isRefused = false
    for _ in 0..<4 where !bytes.isEmpty {
      let kind = bytes.byte()
      let body = bytes.part()
      _ = try sender.send([kind] + body, waiting: false)
      // A packet that is not full is the last of its message.
      if kind == 0, !isRefused { messages.append(body) } else { isRefused = true }
    }
    for message in messages {
      guard case .packet(let incoming) = try channel.receive(waiting: false) else { fatalError("a message is lost") }
      promise(incoming.bytes == message && incoming.descriptor == nil, "another message is received")
    }
    guard isRefused else { return }
    let isTaken: Bool
    do {
      _ = try channel.receive(waiting: false)
      isTaken = true
    } catch { isTaken = false }
    promise(!isTaken, "a wrong packet is taken")
  } catch { fatalError("\(error)") }
}

/// Values that the host keeps in files. A record that can be read is written as one that reads as
/// equal.
private func checkRecords(_ bytes: [UInt8]) {
  if let owner = AppHome.GroupOwner(bytes) {
    promise(AppHome.GroupOwner(owner.encoded) == owner, "the owner of a group is written as another one")
    promise(owner.encoded == bytes, "the owner of a group is written differently")
  }
  let mark = InstalledApp.ImportMark(bytes)
  promise(InstalledApp.ImportMark(mark.encoded) == mark, "a mark is written as another one")
  guard let record = try? JSONDecoder().decode(ImportRecord.self, from: Data(bytes)) else { return }
  let written = try? JSONDecoder().decode(ImportRecord.self, from: JSONEncoder().encode(record))
  promise(written == record, "the record of an import is written as another one")
}
