import Expectations
import MigrationSystem
import Testing

@testable import MigrationTransfer

@Suite struct CompressionChoiceTests {
  /// The bytes that a stream carries in a second, and the compressed fraction, once it has had time
  /// to find out.
  private func settled(_ stream: SimulatedStream) -> (rate: Double, packed: Double) {
    var stream = stream
    stream.send(400)
    _ = stream.send(seconds: 3)
    let (trace, compressed) = (stream.trace, stream.compressed)
    stream.send(400)
    _ = stream.send(seconds: 3)
    return (
      Double(stream.trace.plain - trace.plain) / (stream.trace.now - trace.now),
      Double(stream.compressed - compressed) / Double(stream.trace.frames - trace.frames)
    )
  }

  @Test(arguments: [0.1e6, 1e6, 5e6, 20e6, 60e6], [0.5e6, 1e6, 8e6])
  func `a slow link carries what shrinks at least three times as fast`(link: Double, buffer: Double) {
    let stream = SimulatedStream(link: link, buffer: buffer)
    expect(settled(stream).rate > 3 * link)
  }

  @Test(arguments: [0.5e6, 1e6, 8e6, 20e6])
  func `over a slow link every frame is compressed, except for a look at the link`(buffer: Double) {
    var stream = SimulatedStream(buffer: buffer)
    stream.send(400)
    expect(stream.seconds < 400 * Double(SimulatedStream.frame) / stream.link / 3)
  }

  @Test(arguments: [1e6, 5e6, 20e6])
  func `on a busy machine, where compressing takes four times as long, a slow link is helped as well`(link: Double) {
    let stream = SimulatedStream(link: link, speed: 100e6)
    expect(settled(stream).rate > 3 * link)
  }

  @Test func `data that shrinks by a third only is compressed on a slow link`() {
    expect(settled(SimulatedStream(share: 0.67)).rate > 1.3 * 20e6)
  }

  @Test(arguments: [400e6, 1e9, 1e15])
  func `on a fast link next to nothing is compressed after the opening`(link: Double) {
    var stream = SimulatedStream(link: link)
    stream.send(4000)
    expect(stream.trials < 100)
    expect(settled(SimulatedStream(link: link)).packed < 0.02)
  }

  @Test(arguments: [20e6, 1e15])
  func `a stream that never waits for its link does not compress`(link: Double) {
    let stream = SimulatedStream(link: link, source: 5e6)
    expect(settled(stream).packed, is: 0)
  }

  @Test func `where the source is slower than the link, the opening ends with the first look`() {
    var stream = SimulatedStream(link: 1e15, source: 5e6)
    _ = stream.send(seconds: 60)
    expect(stream.trials < 4)
  }

  @Test func `a stream that waits for its link now and then does not compress`() {
    var choice = CompressionChoice()
    var trace = CompressionChoice.Trace()
    _ = choice.next(trace)
    choice.metNoise()
    for step in 1..<1000 {
      trace.now = Double(step) / 100
      trace.waiting = trace.now / 3
      trace.frames = UInt64(step)
      trace.sent = trace.frames * UInt64(SimulatedStream.frame)
      let isWanted = choice.next(trace)
      expect(!isWanted)
    }
  }

  @Test(arguments: [150e6, 300e6])
  func `a receiver that is slow for other reasons is no reason to compress`(disk: Double) {
    expect(settled(SimulatedStream(link: 1e9, disk: disk)).packed < 0.25)
    var stream = SimulatedStream(link: 1e9, disk: disk)
    _ = stream.send(seconds: 100)
    let (trials, frames) = (stream.trials, stream.trace.frames)
    _ = stream.send(seconds: 100)
    expect(Double(stream.trials - trials) < 0.02 * Double(stream.trace.frames - frames))
  }

  @Test(arguments: [10e6, 100e6])
  func `a slow receiver that is taken for a slow link costs a third of a processor at most, and no time`(disk: Double) {
    let stream = SimulatedStream(link: 1e9, disk: disk)
    let (rate, packed) = settled(stream)
    expect(rate > 0.99 * disk)
    expect(packed * rate / stream.speed < 1 / 3)
  }

  @Test func `for a receiver that becomes slow for other reasons compression becomes ever rarer`() {
    var stream = SimulatedStream(link: 1e9)
    _ = stream.send(seconds: 2)
    stream.disk = 50e6
    _ = stream.send(seconds: 10)
    expect(stream.trials > 0)
    let (trials, frames) = (stream.trials, stream.trace.frames)
    _ = stream.send(seconds: 100)
    expect(Double(stream.trials - trials) < 0.1 * Double(stream.trace.frames - frames))
  }

  @Test func `compressing that takes as long as its link is not begun`() {
    let stream = SimulatedStream(link: 100e6, speed: 120e6)
    expect(settled(stream).packed < 0.05)
  }

  @Test func `a link that becomes slow is noticed within a second`() {
    var stream = SimulatedStream(link: 2e9)
    _ = stream.send(seconds: 2)
    stream.link = 20e6
    _ = stream.send(seconds: 1)
    let rate = stream.send(seconds: 1)
    expect(rate > 3 * stream.link)
  }

  @Test func `a link that becomes fast is noticed`() {
    var stream = SimulatedStream()
    _ = stream.send(seconds: 5)
    stream.link = 2e9
    _ = stream.send(seconds: 1)
    let rate = stream.send(seconds: 1)
    expect(rate > 1.5 * stream.speed)
  }

  @Test(arguments: [0.25, 0.5, 2, 4])
  func `a link of which others take more or less stays helped`(change: Double) {
    var stream = SimulatedStream()
    _ = stream.send(seconds: 5)
    stream.link *= change
    _ = stream.send(seconds: 3)
    let rate = stream.send(seconds: 5)
    expect(rate > 3 * stream.link)
  }

  @Test func `a link that becomes slower bit by bit is compressed for all the while`() {
    var stream = SimulatedStream()
    _ = stream.send(seconds: 5)
    let (compressed, frames) = (stream.compressed, stream.trace.frames)
    for _ in 0..<6 {
      stream.link *= 0.6
      _ = stream.send(seconds: 5)
    }
    expect(UInt64(stream.compressed - compressed), is: stream.trace.frames - frames)
  }

  @Test func `a stumble in compressing that pays is overcome within a second`() {
    var stream = SimulatedStream(share: 0.95)
    _ = stream.send(seconds: 100)
    stream.share = 0.2
    _ = stream.send(seconds: 100)
    stream.looksLikeNoise = true
    _ = stream.send(seconds: 1)
    stream.looksLikeNoise = false
    _ = stream.send(seconds: 1)
    let rate = stream.send(seconds: 2)
    expect(rate > 3 * stream.link)
  }

  @Test func `a machine that becomes busy does not end what pays`() {
    var stream = SimulatedStream()
    _ = stream.send(seconds: 5)
    stream.speed /= 4
    let rate = stream.send(seconds: 5)
    expect(rate > 3 * stream.link)
  }

  @Test func `compressing ends on a machine that has no time for it`() {
    var stream = SimulatedStream()
    _ = stream.send(seconds: 5)
    stream.speed = 15e6
    _ = stream.send(seconds: 5)
    let rate = stream.send(seconds: 5)
    expect(rate > 0.9 * stream.link)
  }

  @Test func `noise in the first frame ends the opening`() {
    var stream = SimulatedStream(link: 1e15, looksLikeNoise: true)
    stream.send(1000)
    expect(stream.trials, is: 1)
  }

  @Test func `noise is looked at ten times a second at most, and text behind it is found`() {
    var stream = SimulatedStream(looksLikeNoise: true)
    _ = stream.send(seconds: 10)
    expect((10...100).contains(stream.trials))
    stream.looksLikeNoise = false
    _ = stream.send(seconds: 1)
    let rate = stream.send(seconds: 5)
    expect(rate > 3 * stream.link)
  }

  @Test func `data that does not shrink is tried ever more rarely`() {
    var stream = SimulatedStream(share: 0.95)
    _ = stream.send(seconds: 200)
    expect(stream.compressed, is: 0)
    expect((5...60).contains(stream.trials))
  }

  @Test func `text that turns into noise costs little, and text behind it is compressed again`() {
    var stream = SimulatedStream()
    stream.send(400)
    stream.looksLikeNoise = true
    let ofNoise = stream.send(seconds: 5)
    expect(ofNoise > 0.95 * stream.link)
    stream.looksLikeNoise = false
    _ = stream.send(seconds: 5)
    let rate = stream.send(seconds: 5)
    expect(rate > 3 * stream.link)
  }

  @Test func `a link on which nothing moved is no reason to compress`() {
    var choice = CompressionChoice()
    var trace = CompressionChoice.Trace()
    _ = choice.next(trace)
    choice.metNoise()
    for step in 1..<100 {
      trace.now = Double(step) / 10
      trace.waiting = trace.now
      trace.frames = UInt64(step)
      let isWanted = choice.next(trace)
      expect(!isWanted)
    }
  }
}

@Suite struct NoiseLookTests {
  @Test func `noise is told from text and from programs`() throws {
    let noise = try SystemRandom.bytes(100_000)
    expect(Compression.isNoise(noise, count: noise.count))
    let text = Array(String(repeating: "What is this, if not text? ", count: 5000).utf8)
    expect(!Compression.isNoise(text, count: text.count))
    expect(!Compression.isNoise(text + noise, count: text.count))
  }

  @Test func `sixty-four letters of noise are no noise: they shrink by a quarter`() throws {
    let letters = try SystemRandom.bytes(100_000).map { $0 & 63 }
    expect(!Compression.isNoise(letters, count: letters.count))
  }

  @Test func `a little of anything is no noise`() throws {
    expect(!Compression.isNoise(try SystemRandom.bytes(4095), count: 4095))
  }
}
