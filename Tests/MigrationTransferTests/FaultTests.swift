import Expectations
import Foundation
import MigrationArchive
import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire
import TestSupport
import Testing

@testable import MigrationTransfer

@Suite struct FaultTests {
  @Test func `a data stream that dies without a word is opened anew`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let big = patternData(40 << 20)
    source.write("big", big)
    let receiver = try RunningReceiver(destination)
    let proxy = try Proxy(to: try receiver.port()) { connection, bytes in
      connection == 1 && bytes > 6 << 20 ? .swallow : .pass
    }
    var options = Sender.Options(to: proxy.port)
    options.stallPatience = 1
    _ = try RunningSender([source.at("big")], options, code: try receiver.events.code()).result()
    _ = try receiver.result()
    expect(destination.content("big"), is: big)
    expect(proxy.connections >= 3)
    // Large packets may vanish on the way: new connections have small ones.
    expect(proxy.segmentBytes[..<2].allSatisfy { $0 > StreamSocket.smallSegment })
    expect(proxy.segmentBytes[proxy.connections - 1] <= StreamSocket.smallSegment)
    proxy.stop()
  }

  @Test func `a byte that is changed on its way never arrives`() throws {
    let (source, destination) = (try Scratch(), try Scratch())
    let big = patternData(20 << 20)
    source.write("big", big)
    let receiver = try RunningReceiver(destination)
    let proxy = try Proxy(to: try receiver.port()) { connection, bytes in
      connection == 1 && bytes > 3 << 20 ? .spoil : .pass
    }
    _ = try send([source.at("big")], to: proxy.port, code: try receiver.events.code())
    _ = try receiver.result()
    expect(destination.content("big"), is: big)
    expect(proxy.connections >= 3)
    proxy.stop()
  }
}
