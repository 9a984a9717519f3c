import CWorld
import Foundation
import MigrationSystem
import TestSupport

/// Two or three threads at one real object, in as many orders as there are seeds.
///
/// Usage: interleave [--seeds N] [--first N] [--only NAME]
@main enum Interleave {
  static func main() throws {
    var (seeds, first, only): (UInt64, UInt64, String?) = (200, 0, nil)
    var words = CommandLine.arguments.dropFirst()
    while let word = words.popFirst() {
      switch (word, words.popFirst()) {
      case ("--seeds", let value?): seeds = UInt64(value) ?? seeds
      case ("--first", let value?): first = UInt64(value) ?? first
      case ("--only", let value?): only = value
      default:
        print("usage: interleave [--seeds N] [--first N] [--only NAME]")
        exit(2)
      }
    }
    var failures = 0
    var total = (meetings: 0, orders: 0, switches: UInt64(0))
    for meeting in Meeting.all where only.map({ $0 == meeting.name }) ?? true {
      var (orders, switches): (Set<UInt64>, UInt64) = ([], 0)
      for seed in first..<first + seeds {
        let (counts, broken) = try meeting.run(seed)
        orders.insert(counts.trace)
        switches += counts.switches
        guard let broken else { continue }
        print("\(meeting.name), seed \(seed): \(broken) (trace \(String(counts.trace, radix: 16)))")
        failures += 1
        // The strands of a stuck one are still there.
        if counts.is_stuck { exit(1) }
        break
      }
      print("\(meeting.name): \(orders.count) orders, \(switches) switches")
      total = (total.meetings + 1, total.orders + orders.count, total.switches + switches)
    }
    print("\(total.meetings) meetings, \(failures) failed: \(total.orders) orders, \(total.switches) switches")
    exit(failures == 0 ? 0 : 1)
  }
}

/// What a strand does; a clause says what it has found wrong.
typealias Strand = @Sendable () throws -> String?

/// Threads that meet at one object.
struct Meeting: Sendable {
  let name: String
  /// The strands, and what is looked at behind them.
  let make: @Sendable (Scratch) throws -> (strands: [Strand], judge: () throws -> String?)

  private final class Run {
    let strands: [Strand]
    let findings: Mutex<[String]> = Mutex([])

    init(_ strands: [Strand]) { self.strands = strands }
  }

  /// Runs it in the order of a seed; returns what was broken, too.
  func run(_ seed: UInt64) throws -> (world_counts, String?) {
    let scratch = try Scratch()
    defer { withExtendedLifetime(scratch) {} }
    let (strands, judge) = try make(scratch)
    let run = Run(strands)
    let counts = world_run(
      seed, Int32(strands.count),
      { raw, number in
        let run = Unmanaged<Run>.fromOpaque(raw!).takeUnretainedValue()
        do {
          if let found = try run.strands[Int(number)]() { run.findings.withLock { $0.append(found) } }
        } catch {
          run.findings.withLock { $0.append("thread \(number): \(error)") }
        }
      }, Unmanaged.passUnretained(run).toOpaque())
    if counts.is_stuck { return (counts, "every thread waits for another one") }
    let findings = run.findings.withLock { $0 }
    return (counts, try findings.first ?? judge())
  }
}
