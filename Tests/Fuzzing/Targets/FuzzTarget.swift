import Glibc

/// A reader of bytes from outside, or a value that takes events, and the bounds of one input.
struct FuzzTarget: Sendable {
  /// The name that Scripts/fuzz takes.
  let name: String
  /// The reader, for people.
  let title: String
  /// The most bytes of an input.
  let longest: Int
  /// How many MiB one allocation may have. The program's whole memory has one limit for all
  /// targets, which is the sanitizer's more than theirs.
  let allocation: Int
  /// Reads an input. Ends the program where a promise is broken.
  let run: @Sendable (ArraySlice<UInt8>) -> Void

  init(
    _ name: String, _ title: String, longest: Int, allocation: Int = 2,
    run: @escaping @Sendable (ArraySlice<UInt8>) -> Void
  ) {
    self.name = name
    self.title = title
    self.longest = longest
    self.allocation = allocation
    self.run = run
  }

  /// The target as Scripts/fuzz reads it.
  var line: String { "\(name)|\(longest)|\(allocation)|\(title)" }

  static let all = wire + archive + tls + apps + texts + values + engines
}

/// Whether a walk keeps its events and prints them: it does when an input is repeated.
let keepsEvents = unsafe getenv("PEER_FUZZ_EVENTS") != nil

/// Prints the events of a walk, before a promise of it ends the program.
func tell(_ events: [String]) {
  for event in events { print(event) }
  fflush(nil)
}

/// Ends the program, with a message, unless a promise is kept.
func promise(_ isKept: Bool, _ broken: @autoclosure () -> String) {
  if !isKept { fatalError(broken()) }
}

/// The value that `body` reads; nil where it refuses the bytes, with any error.
func read<Value>(_ body: () throws -> Value?) -> Value? {
  do { return try body() } catch { return nil }
}
