import Dispatch
import Foundation
import MigrationSystem
import TransferSimulator

/// Runs any number of simulations, and reports the seeds that broke a promise.
@main enum Simulate {
  /// The most failures that are printed; more would say nothing new.
  private static let mostFailures = 20
  /// How many of the last lines of the trace are printed without --trace.
  private static let lastLines = 60

  static func main() {
    do {
      let request = try Request(CommandLine.arguments.dropFirst())
      var isGood = request.seed.map { runOne($0, request) } ?? runAll(request)
      if request.makesMistakes { isGood = makeMistakes(request) && isGood }
      exit(isGood ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("simulate: \(error.text)\n\(Request.usage)\n".utf8))
      exit(2)
    }
  }

  /// Replays one seed.
  private static func runOne(_ seed: UInt64, _ request: Request) -> Bool {
    let outcome = Simulation.run(
      seed: seed, mutation: request.mutation, keeps: request.keeps, keepsTrace: true)
    for line in outcome.trace.suffix(request.isTracing ? .max : lastLines) { print(line) }
    print("seed \(seed): \(outcome.broken ?? "all held") (trace \(String(outcome.traceHash, radix: 16)))")
    return outcome.broken == nil
  }

  private static func runAll(_ request: Request) -> Bool {
    let tally = Mutex(Summary(next: request.first))
    let start = ContinuousClock.now
    DispatchQueue.concurrentPerform(iterations: ProcessInfo.processInfo.activeProcessorCount) { _ in
      while let seed = tally.withLock({ $0.take(upTo: request.first + request.count, failures: mostFailures) }) {
        let outcome = Simulation.run(seed: seed, mutation: request.mutation, keeps: request.keeps)
        tally.withLock { $0.add(outcome) }
      }
    }
    let summary = tally.withLock { $0 }
    print(summary.text(seconds: (ContinuousClock.now - start) / .seconds(1)))
    return summary.failures.isEmpty
  }

  /// Makes every mistake, one after the other. Returns whether each is detected by one of the
  /// seeds, or by one of as many seeds after them.
  private static func makeMistakes(_ request: Request) -> Bool {
    let found = Mutation.allCases.map { mutation in
      let seeds = request.first..<request.first + 2 * request.count
      let seed = finder(of: mutation, among: seeds)
      let outcome = seed.map { "ok      | by seed \($0)" } ?? "FAILED  | by none of \(seeds.count) seeds"
      print("the mistake \(mutation.rawValue) is detected | \(outcome)")
      return seed != nil
    }
    return !found.contains(false)
  }

  /// A seed that detects a mistake. All cores try the seeds, from the first on.
  private static func finder(of mutation: Mutation, among seeds: Range<UInt64>) -> UInt64? {
    let state = Mutex((next: seeds.lowerBound, found: UInt64?.none))
    DispatchQueue.concurrentPerform(iterations: ProcessInfo.processInfo.activeProcessorCount) { _ in
      while let seed = state.withLock({ state -> UInt64? in
        guard state.found == nil, state.next < seeds.upperBound else { return nil }
        defer { state.next += 1 }
        return state.next
      }) {
        guard Simulation.run(seed: seed, mutation: mutation).broken != nil else { continue }
        state.withLock { $0.found = min(seed, $0.found ?? seed) }
      }
    }
    return state.withLock { $0.found }
  }
}

/// The results of many simulations.
private struct Summary {
  var next: UInt64
  var runs = 0
  var faults = Faults()
  var sentTwice = 0
  var sentInAll = 0
  var failures: [(seed: UInt64, broken: String)] = []

  init(next: UInt64) { self.next = next }

  mutating func take(upTo end: UInt64, failures most: Int) -> UInt64? {
    guard next < end, failures.count < most else { return nil }
    defer { next += 1 }
    return next
  }

  mutating func add(_ outcome: Simulation.Outcome) {
    runs += 1
    faults.add(outcome.faults)
    sentTwice += outcome.sentTwice
    sentInAll += outcome.sentInAll
    if let broken = outcome.broken {
      failures.append((outcome.seed, broken))
      print("seed \(outcome.seed): \(broken)\n  replay: Scripts/simulate --seed \(outcome.seed) --trace")
    }
  }

  func text(seconds: Double) -> String {
    """
    every promise is kept | \(failures.isEmpty ? "ok     " : "FAILED ") | \(runs) seeds, \(failures.count) failed, in \(String(format: "%.1f", seconds)) s
      all connections cut   \(faults.cuts)
      one connection cut    \(faults.streamCuts)
      sender killed         \(faults.senderKills)
      receiver killed       \(faults.receiverKills), \(faults.importKills) of them at the end or during the import
      power losses          \(faults.powerLosses)
      failing disks         \(faults.diskErrors)
      items refused         \(faults.refusals)
      changes of the source \(faults.changes)
      networks away         \(faults.outages)
      devices asleep        \(faults.sleeps)
      disks that hung       \(faults.stalls)
      runs, stopped         \(faults.runs), \(faults.stops)
      strangers, impostors  \(faults.strangers), \(faults.impostors)
      sessions that gave way \(faults.turns)
      two senders at once   \(faults.twins)
      further transfers     \(faults.rounds)
      parts that failed     \(faults.partFaults)
      bytes sent            \(sentInAll), \(sentTwice) of them twice
    """
  }
}

private struct Request {
  static let usage = """
    usage: Scripts/simulate [--seeds N] [--from N] [--keep] [--mutation NAME | --mutations]
           Scripts/simulate --seed N [--trace] [--keep] [--mutation NAME]
    mutations: \(Mutation.allCases.map(\.rawValue).joined(separator: ", "))
    """

  struct Mistake: Error {
    let text: String
  }

  var first: UInt64 = 1
  var count: UInt64 = 2_000
  var seed: UInt64?
  var isTracing = false
  var keeps = false
  var mutation: Mutation?
  var makesMistakes = false

  init(_ words: ArraySlice<String>) throws(Mistake) {
    var words = words
    while let word = words.popFirst() {
      switch word {
      case "--seeds": count = try Self.number(word, words.popFirst())
      case "--from": first = try Self.number(word, words.popFirst())
      case "--seed": seed = try Self.number(word, words.popFirst())
      case "--trace": isTracing = true
      case "--keep": keeps = true
      case "--mutations": makesMistakes = true
      case "--mutation":
        let name = words.popFirst() ?? ""
        guard let known = Mutation(rawValue: name) else { throw Mistake(text: "unknown mutation \"\(name)\"") }
        mutation = known
      default: throw Mistake(text: "unknown option \"\(word)\"")
      }
    }
    if isTracing, seed == nil { throw Mistake(text: "--trace needs --seed") }
    if makesMistakes, seed != nil || mutation != nil { throw Mistake(text: "--mutations excludes --seed, --mutation") }
  }

  private static func number(_ option: String, _ word: String?) throws(Mistake) -> UInt64 {
    guard let word, let number = UInt64(word), number < 1 << 60 else { throw Mistake(text: "\(option) needs a number") }
    return number
  }
}
