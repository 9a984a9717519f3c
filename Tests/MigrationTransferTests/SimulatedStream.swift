@testable import MigrationTransfer

/// A simulated stream with frames of 256 KiB: how much it would compress over a link, and its
/// speed.
struct SimulatedStream {
  var choice = CompressionChoice()
  /// The speeds of the link, of this machine's compression and of its reads, in bytes a second, and
  /// the compressed fraction of a frame.
  var link: Double
  var speed: Double
  var source: Double
  var share: Double
  var looksLikeNoise: Bool
  /// The bytes that the receiver writes in a second.
  var disk: Double
  /// The capacity of the buffers in between, and the most bytes that may wait to be written.
  private let buffer: Double
  private let window = 14e6
  /// How many frames were asked to be compressed, and how many were.
  private(set) var trials = 0
  private(set) var compressed = 0
  private(set) var trace = CompressionChoice.Trace()
  /// The data in between: bytes as they travel, and as they are written.
  private var pipe: [(wire: Double, plain: Double)] = []
  private var inPipe = 0.0
  private var underWay = 0.0

  static let frame = 256 << 10

  init(
    link: Double = 20e6, speed: Double = 400e6, source: Double = 1000e6, share: Double = 0.2,
    looksLikeNoise: Bool = false,
    disk: Double = .infinity, buffer: Double = 4e6
  ) {
    self.link = link
    self.speed = speed
    self.source = source
    self.share = share
    self.looksLikeNoise = looksLikeNoise
    self.disk = disk
    self.buffer = buffer
  }

  var seconds: Double { trace.now }

  mutating func send(_ count: Int) {
    for _ in 0..<count { sendFrame() }
  }

  /// Sends for so many seconds; how many bytes of entries it was a second.
  mutating func send(seconds: Double) -> Double {
    let (start, plain) = (trace.now, trace.plain)
    while trace.now < start + seconds { sendFrame() }
    return Double(trace.plain - plain) / (trace.now - start)
  }

  private mutating func sendFrame() {
    let size = Double(Self.frame)
    pass(size / source)
    // Until the window has room there is no frame, and it is not the link that is waited for.
    while underWay + size > window, let first = pipe.first { pass(through(first)) }
    trace.unwritten = UInt64(pipe.count)
    var wire = size
    if choice.next(trace) {
      trials += 1
      if looksLikeNoise {
        choice.metNoise()
      } else {
        let seconds = size / speed
        pass(seconds)
        if share < 0.9 {
          wire = size * share
          compressed += 1
        }
        choice.packed(Self.frame, to: Int(wire), seconds: seconds)
      }
    }
    trace.plain += UInt64(Self.frame)
    trace.frames += 1
    while inPipe + wire > buffer {
      guard let first = pipe.first else { preconditionFailure("a frame fits into the buffers on the way") }
      // Room comes bit by bit.
      let seconds = through(first) * min(1, (inPipe + wire - buffer) / first.wire) + 1e-9
      pass(seconds)
      trace.waiting += seconds
    }
    trace.sent += UInt64(wire)
    pipe.append((wire, size))
    inPipe += wire
    underWay += size
  }

  /// How long a frame takes: as long as the slower of link and disk.
  private func through(_ frame: (wire: Double, plain: Double)) -> Double { max(frame.wire / link, frame.plain / disk) }

  /// Lets link and receiver work for a while.
  private mutating func pass(_ seconds: Double) {
    trace.now += seconds
    var left = seconds
    while left > 0, let first = pipe.first {
      let needed = through(first)
      if needed > left {
        let moved = left / needed
        pipe[0] = (first.wire * (1 - moved), first.plain * (1 - moved))
        inPipe -= first.wire * moved
        underWay -= first.plain * moved
        return
      }
      left -= needed
      inPipe -= first.wire
      underWay -= first.plain
      pipe.removeFirst()
    }
  }
}
