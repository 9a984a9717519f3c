import TransferSimulator

@main enum Simulate {
  static func main() {
    let words = CommandLine.arguments.dropFirst()
    var options: [String: String] = [:]
    var name: String?
    for word in words {
      if word.hasPrefix("--") {
        name = word
        options[word] = ""
      } else if let known = name {
        options[known] = word
      }
    }
    let first = options["--from"].flatMap(UInt64.init) ?? 1
    let count = options["--seeds"].flatMap(UInt64.init) ?? 2_000
    let mutation = options["--mutation"].flatMap(Mutation.init)
    var failures = 0
    for seed in first..<first + count {
      let outcome = Simulation.run(seed: seed, mutation: mutation, keepsTrace: options["--trace"] != nil)
      if options["--trace"] != nil { for line in outcome.trace { print(line) } }
      if options["--hash"] != nil { print(seed, outcome.traceHash) }
      if let broken = outcome.broken {
        failures += 1
        print("seed \(seed): \(broken)")
        if failures >= 10 { break }
      }
    }
    print("\(count) seeds, \(failures) failed")
  }
}
