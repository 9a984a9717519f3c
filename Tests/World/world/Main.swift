import CWorld
import Foundation
import MigrationSystem

/// Runs both ends as the product has them, in a world of which each seed decides everything else.
///
/// Usage: world [--seeds N | --seed N] [--first N] [--rounds N] [--jobs N] [--calm] [--trace]
@main enum World {
  static func main() throws {
    var (seeds, first): (UInt64, UInt64) = (200, 1)
    var (traces, isCalm, rounds, jobs) = (false, false, UInt64(1), CurrentProcess.processors)
    var words = CommandLine.arguments.dropFirst()
    while let word = words.popFirst() {
      switch word {
      case "--trace": traces = true
      case "--calm": isCalm = true
      case "--seeds", "--first", "--seed", "--jobs", "--rounds":
        guard let number = words.popFirst().flatMap({ UInt64($0) }) else { usage() }
        switch word {
        case "--seeds": seeds = number
        case "--jobs": jobs = max(1, Int(number))
        case "--first": first = number
        case "--rounds": rounds = max(1, number)
        default: (first, seeds) = (number, 1)
        }
      default: usage()
      }
    }
    // A world whose addresses and hashes differ from run to run would not replay.
    world_settle(CommandLine.unsafeArgv)
    SignalSource.ignoreBrokenPipe()
    Ends.warmUp()
    exit(
      Campaign(seeds: first..<first + seeds, isCalm: isCalm, traces: traces, rounds: rounds, jobs: jobs).run() ? 0 : 1)
  }

  private static func usage() -> Never {
    print("usage: world [--seeds N | --seed N] [--first N] [--rounds N] [--jobs N] [--calm] [--trace]")
    exit(2)
  }
}

/// Many seeds, each in a process of its own, on every core.
struct Campaign {
  let seeds: Range<UInt64>
  let isCalm: Bool
  let traces: Bool
  /// How often each seed runs: its trace must be the same.
  let rounds: UInt64
  /// How many run at the same time.
  let jobs: Int
  /// How long one seed may take: a guard against hangs, not a promise.
  private static let bound: CInt = 120_000

  /// The descriptor on which a seed reports.
  private static let output: CInt = 1000

  private struct Worker {
    let seed: UInt64
    let processor: Int
    let process: pid_t
    let output: CInt
  }

  func run() -> Bool {
    var (next, workers, sum, failures) = (UInt64(0), [Worker](), Tally(), 0)
    let count = (seeds.upperBound - seeds.lowerBound) * rounds
    var known: [UInt64: UInt64] = [:]
    let begin = BootInstant.now()
    while true {
      while workers.count < jobs, next < count, failures < 10 {
        workers.append(start(seeds.lowerBound + next / rounds, beside: workers))
        next += 1
      }
      guard !workers.isEmpty else { break }
      var polled = workers.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
      if poll(&polled, nfds_t(polled.count), Self.bound) == 0 {
        for worker in workers {
          print("seed \(worker.seed): takes longer than \(Self.bound / 1000) s")
          kill(-worker.process, SIGKILL)
        }
      }
      for (index, one) in polled.enumerated().reversed() where one.revents != 0 {
        let worker = workers.remove(at: index)
        var tally = Tally()
        let count = withUnsafeMutableBytes(of: &tally) { read(worker.output, $0.baseAddress!, $0.count) }
        close(worker.output)
        waitpid(worker.process, nil, 0)
        if count != MemoryLayout<Tally>.size { print("seed \(worker.seed): died") }
        sum.add(tally)
        if rounds > 1, known.updateValue(tally.trace, forKey: worker.seed) ?? tally.trace != tally.trace {
          print("seed \(worker.seed): another trace, \(String(tally.trace, radix: 16))")
          failures += 1
        }
        if count != MemoryLayout<Tally>.size || tally.isBroken { failures += 1 }
      }
    }
    let seconds = Double(BootInstant.now().nanoseconds - begin.nanoseconds) / 1e9
    let speed = String(format: "%.0f s, %.1f seeds a second", seconds, Double(next) / seconds)
    print(
      "\(next) seeds, \(failures) failed: \(sum.words); \(speed); trace \(String(sum.trace, radix: 16))"
    )
    return failures == 0
  }

  private func start(_ seed: UInt64, beside workers: [Worker]) -> Worker {
    fflush(nil)
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { fatalError("no pipe: \(errno)") }
    let processor = (0..<jobs).first { free in !workers.contains { $0.processor == free } } ?? 0
    let process = world_fork(CInt(processor))
    if process != 0 {
      close(ends[1])
      return Worker(seed: seed, processor: processor, process: process, output: ends[0])
    }
    setpgid(0, 0)
    // The numbers of a seed's own descriptors are the same, however many seeds run beside it.
    let output = Self.output
    guard dup2(ends[1], output) == output else { fatalError("no descriptor: \(errno)") }
    for other in ends + workers.map(\.output) { close(other) }
    var (tally, broken) = Course.run(seed, isCalm: isCalm, traces: traces)
    if let broken { print("seed \(seed): \(broken), trace \(String(tally.trace, radix: 16))") }
    fflush(nil)
    tally.isBroken = broken != nil
    _ = withUnsafeBytes(of: &tally) { write(output, $0.baseAddress!, $0.count) }
    exit(0)
  }
}

/// What has happened in a world, or in several.
struct Tally {
  var kills = 0, powerLosses = 0, cuts = 0, stalls = 0, secondProcesses = 0, lostWrites = 0, passes = 0, stops = 0,
    edits = 0, relays = 0
  var switches: UInt64 = 0, trace: UInt64 = 0
  var isBroken = false

  mutating func add(_ other: Tally) {
    kills += other.kills
    powerLosses += other.powerLosses
    cuts += other.cuts
    stalls += other.stalls
    secondProcesses += other.secondProcesses
    lostWrites += other.lostWrites
    passes += other.passes
    stops += other.stops
    edits += other.edits
    relays += other.relays
    switches += other.switches
    trace ^= other.trace
  }

  var words: String {
    "\(kills) kills, \(powerLosses) power losses, \(cuts) cuts, \(stalls) stalls, \(secondProcesses) second processes, "
      + "\(lostWrites) lost writes, \(passes) later passes, \(stops) stops, \(edits) edits, \(relays) relays, "
      + "\(switches) switches"
  }
}
