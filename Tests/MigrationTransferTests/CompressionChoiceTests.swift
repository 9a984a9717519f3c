import MigrationSystem
import Testing

@testable import MigrationTransfer

/// A stream whose frames have one MiB, simulated: what it would send over a link, and how fast.
private struct SimulatedStream {
  var choice = CompressionChoice()
  var trace = CompressionChoice.Trace()
  /// What the link takes, how fast this machine compresses, both in bytes a second, and what is left of a frame.
  var link = 20e6
  var speed = 200e6
  var ratio = 0.2
  var looksLikeNoise = false
  /// What another stream has found.
  var others: Double?
  /// What the receiver writes a second, of which a window may be under way.
  var disk = Double.infinity
  private(set) var compressed = 0
  private(set) var trials = 0
  /// What the buffers on the way take, and what is in them.
  var buffer = 4e6
  private var buffered = 0.0
  /// Where the frames end that are not all with the receiver, in the bytes that were sent.
  private var ends: [Double] = []
  /// What the receiver has not written yet.
  private var unwritten = 0.0
  private static let window = 24e6

  static let frame = 1 << 20

  mutating func send(_ count: Int) {
    for _ in 0..<count { sendFrame() }
  }

  private mutating func sendFrame() {
    let size = Double(Self.frame)
    // Until the window has room there is no frame, and nobody waits for the link.
    pass(max(0, unwritten + size - Self.window) / disk)
    ends.removeAll { $0 <= Double(trace.sent) - buffered }
    trace.unwritten = UInt64(Double(ends.count) + unwritten / size)
    let isTried = choice.next(trace, others: others)
    trace.plain += UInt64(Self.frame)
    trace.frames += 1
    var left = size
    if isTried {
      trials += 1
      if looksLikeNoise {
        choice.tried(.noise)
      } else {
        pass(size / speed)
        trace.packing += size / speed
        left = size * ratio
        choice.tried(
          ratio > 0.9 ? .useless : .packed(plain: Self.frame, size: Int(left), seconds: size / speed))
        if ratio > 0.9 { left = size } else { compressed += 1 }
      }
    }
    trace.sent += UInt64(left)
    ends.append(Double(trace.sent))
    let waits = max(0, left - (buffer - buffered)) / link
    trace.waiting += waits
    pass(waits + 1e-5)
    buffered += min(left, buffer - buffered)
    unwritten += size
  }

  private mutating func pass(_ seconds: Double) {
    guard seconds > 0 else { return }
    trace.now += seconds
    buffered = max(0, buffered - link * seconds)
    unwritten = max(0, unwritten - disk * seconds)
  }
}

@Suite struct CompressionChoiceTests {
  @Test func `on a slow link, what shrinks is compressed from the first frame on, but for a look at the link`() {
    var stream = SimulatedStream()
    stream.send(200)
    #expect(stream.compressed > 190)
  }

  @Test func `a stream that joins others goes on with what they found, until it proves wrong`() {
    var stream = SimulatedStream()
    stream.others = 20e6
    stream.send(1000)
    #expect(stream.compressed == 1000)
    stream.others = nil
    stream.ratio = 0.8
    stream.link = 10e6
    stream.send(200)
    #expect(stream.choice.instead == nil)
  }

  @Test func `what a stream has found out itself weighs more than what others found`() {
    var stream = SimulatedStream()
    stream.ratio = 0.95
    stream.send(200)
    stream.others = 20e6
    stream.send(1)
    #expect(stream.choice.instead == nil)
  }

  @Test func `where no processor is to spare nothing is compressed after the opening`() {
    var stream = SimulatedStream()
    stream.choice.processorsWereIdle(0)
    stream.send(1000)
    let opening = CompressionChoice.opening.longest * stream.speed / Double(SimulatedStream.frame)
    #expect(stream.trials <= Int(opening.rounded(.up)))
    stream.choice.processorsWereIdle(1)
    stream.send(100)
    #expect(stream.compressed > 100)
  }

  @Test func `over 20 MB/s a twentieth of a processor must be idle, and then less than half of the bytes go out`() {
    let frames = 128
    var sent: [Bool: UInt64] = [:]
    for isEnough in [false, true] {
      var stream = SimulatedStream()
      stream.ratio = 0.25
      stream.choice.processorsWereIdle(isEnough ? 0.051 : 0.049)
      stream.send(frames)
      sent[isEnough] = stream.trace.sent
    }
    let all = UInt64(frames * SimulatedStream.frame)
    #expect(sent[true]! < all / 2)
    #expect(sent[false]! > all / 2)
  }

  @Test func `idle processors are asked for when the link is looked at, and never while compressing`() {
    var stream = SimulatedStream()
    #expect(!stream.choice.asksForIdleProcessors)
    stream.choice.processorsWereIdle(0)
    stream.send(200)
    #expect(stream.choice.asksForIdleProcessors)
    stream.choice.processorsWereIdle(2)
    stream.send(50)
    #expect(stream.choice.instead != nil)
    #expect(!stream.choice.asksForIdleProcessors)
  }

  @Test func `processors that become busy do not end compressing that pays`() {
    var stream = SimulatedStream()
    stream.send(50)
    stream.choice.processorsWereIdle(0)
    stream.send(200)
    #expect(stream.compressed > 240)
  }

  @Test func `what fills the buffers on the way is compressed, but not for long`() {
    var stream = SimulatedStream()
    stream.buffer = 1e9
    stream.send(900)
    let opening = CompressionChoice.opening.longest * stream.speed / Double(SimulatedStream.frame)
    #expect(stream.trials == Int(opening.rounded(.up)))
  }

  @Test func `a link that becomes slow is noticed within a second`() {
    var stream = SimulatedStream()
    stream.link = 1e9
    stream.send(400)
    let compressed = stream.compressed
    stream.link = 20e6
    stream.send(20)
    #expect(stream.compressed > compressed)
    stream.send(200)
    #expect(stream.compressed > compressed + 200)
  }

  @Test func `on a fast link hardly anything is compressed after the opening`() {
    var stream = SimulatedStream()
    stream.link = 600e6
    stream.send(100)
    let opening = stream.compressed
    #expect(opening < 40)
    stream.send(4000)
    #expect(stream.compressed < opening + 20)
  }

  @Test func `a stream that comes later has no opening`() {
    var stream = SimulatedStream()
    stream.choice = CompressionChoice(knowsLink: true)
    stream.link = 1e15
    stream.send(1000)
    #expect(stream.trials == 0)
  }

  @Test func `on a very slow link it takes next to no processor to begin`() {
    var stream = SimulatedStream()
    stream.choice = CompressionChoice(knowsLink: true)
    stream.link = 1e6
    stream.choice.processorsWereIdle(0.01)
    stream.send(100)
    #expect(stream.compressed > 80)
  }

  @Test func `a link on which nothing moved is no reason to compress`() {
    var choice = CompressionChoice(knowsLink: true)
    var trace = CompressionChoice.Trace()
    for step in 0..<100 {
      trace.now = Double(step) / 10
      trace.waiting = trace.now
      let isWanted = choice.next(trace)
      #expect(!isWanted)
    }
  }

  @Test func `on a link that is never waited for, compressing is soon over`() {
    var stream = SimulatedStream()
    stream.link = 1e15
    stream.send(1000)
    let opening = CompressionChoice.opening.fast * stream.speed / Double(SimulatedStream.frame)
    #expect(stream.trials == Int(opening.rounded(.up)))
  }

  @Test func `noise in the first frame ends the opening`() {
    var stream = SimulatedStream()
    stream.link = 1e15
    stream.looksLikeNoise = true
    stream.send(1000)
    #expect(stream.trials == 1)
  }

  @Test func `what looks like noise is looked at ever more rarely, and later text is still found`() {
    var stream = SimulatedStream()
    stream.looksLikeNoise = true
    stream.send(1000)
    #expect((10...130).contains(stream.trials))
    stream.looksLikeNoise = false
    stream.send(60)
    #expect(stream.compressed > 0)
  }

  @Test func `what does not shrink is tried ever more rarely`() {
    var stream = SimulatedStream()
    stream.ratio = 0.95
    stream.send(1000)
    #expect(stream.compressed == 0)
    #expect((5...25).contains(stream.trials))
  }

  @Test func `text that turns into noise is sent as it is after a few frames`() {
    var stream = SimulatedStream()
    stream.send(100)
    let (compressed, trials) = (stream.compressed, stream.trials)
    stream.looksLikeNoise = true
    stream.send(100)
    #expect(stream.compressed == compressed)
    #expect(stream.trials < trials + 60)
  }

  @Test func `a receiver that is slow for other reasons ends the compressing`() {
    var stream = SimulatedStream()
    stream.link = 100e6
    stream.disk = 100e6
    stream.others = 100e6
    stream.send(1)
    stream.others = nil
    stream.send(4000)
    #expect((64..<800).contains(stream.compressed))
    #expect(stream.choice.instead == nil)
  }

  @Test func `compressing that is too slow for its link is not begun`() {
    var stream = SimulatedStream()
    stream.link = 100e6
    stream.speed = 120e6
    stream.send(2000)
    #expect(stream.compressed < 20)
  }

  @Test func `a link that becomes fast is noticed`() {
    var stream = SimulatedStream()
    stream.speed = 100e6
    stream.ratio = 0.1
    stream.send(400)
    #expect(stream.compressed > 300)
    stream.link = 1e9
    stream.send(4000)
    let compressed = stream.compressed
    stream.send(1000)
    #expect(stream.compressed < compressed + 300)
  }
}

@Suite struct NoiseLookTests {
  @Test func `noise is told from text and from programs`() throws {
    let noise = try SystemRandom.bytes(100_000)
    #expect(NoiseLook.isNoise(noise, count: noise.count))
    let text = Array(String(repeating: "What is this, if not text? ", count: 5000).utf8)
    #expect(!NoiseLook.isNoise(text, count: text.count))
    #expect(!NoiseLook.isNoise(text + noise, count: text.count))
  }

  @Test func `sixty-four letters of noise are no noise: they shrink by a quarter`() throws {
    let letters = try SystemRandom.bytes(100_000).map { $0 & 63 }
    #expect(!NoiseLook.isNoise(letters, count: letters.count))
  }

  @Test func `a little of anything is no noise`() throws {
    #expect(!NoiseLook.isNoise(try SystemRandom.bytes(4095), count: 4095))
  }
}
