import Expectations
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationDiscovery
@testable import MigrationTransfer

/// A search that finds what a test says.
private final class SimulatedSearch: NearbySearch {
  private let devices: [NearbyDevice]
  let looks = Mutex(0)

  init(_ devices: [NearbyDevice]) { self.devices = devices }

  func look(for seconds: Double, unless stop: StopSignal) -> [NearbyDevice] {
    looks.withLock { $0 += 1 }
    return devices
  }
}

/// Transfers to a device that was found.
@Suite struct NearbyTests {
  private func device(_ label: String, _ port: UInt16) -> NearbyDevice {
    NearbyDevice(label: label, instance: 1, addresses: [.loopback(port: port)])
  }

  private let options = Sender.Options(label: "old", software: "test", giveUpAfter: 0)

  @Test func `the chosen device gets the data, and the question for the code has its name`() throws {
    let source = try Scratch()
    let destination = try Scratch()
    source.write("file", patternData(1000))
    let closed = try HeldPort()
    let receiver = try RunningReceiver(destination)
    let code = try receiver.events.code()
    let search = SimulatedSearch([
      device("other", closed.number), device("new", try receiver.port()),
      NearbyDevice(label: "x", instance: nil, addresses: []),
    ])
    let asked = Mutex<[String]>([])
    let sender = try Sender(options, searching: search, sources: [try FolderSource(paths: [source.at("file")])]) { _ in
    } choosing: { (found, _) throws(Failure) in
      asked.withLock { $0 += found.map(\.shown) }
      return 1
    } code: { (device, _) throws(Failure) in
      asked.withLock { $0.append("code of \(device.shown)") }
      return TypedCode(code: code)
    }
    let end = try RunningThread("sender") { try sender.run() }
    let sent = try end.value()
    expect(try receiver.result().total, is: sent.total)
    expect(asked.withLock { $0 }, is: ["other (127.0.0.1)", "new (127.0.0.1)", "code of new (127.0.0.1)"])
    expect(search.looks.withLock { $0 }, is: 1)
  }

  @Test func `where no device is found nothing is asked`() throws {
    let source = try Scratch()
    source.write("file", patternData(10))
    let events = Events()
    let sender = try Sender(
      options, searching: SimulatedSearch([]), sources: [try FolderSource(paths: [source.at("file")])]
    ) {
      events.add($0)
    } code: { (_, _) throws(Failure) in
      throw Failure(.usage, "a code was asked for")
    }
    let end = try RunningThread("sender") { try sender.run() }
    let failure = #expect(throws: Failure.self) { try end.value() }
    expect(failure?.message, is: "no device is waiting on this network")
    expect(failure?.kind, is: .connectionLost)
    expect(events.all.contains { if case .looking = $0 { true } else { false } })
  }
}
