import Glibc

/// A reader of bytes from outside, or a value that takes events, and the bounds of one input.
package struct FuzzTarget: Sendable {
  /// The name that Lab/fuzz takes.
  package let name: String
  /// The reader, for people.
  package let title: String
  /// The most bytes of an input that is made up. The first inputs may be longer.
  package let longest: Int
  /// How many KiB all allocations of one input may have together.
  package let memory: Int
  /// How much processor time one input may take, in milliseconds, also with the sanitizer.
  package let time: Int
  /// Reads an input. Ends the program where a promise is broken.
  package let run: @Sendable (ArraySlice<UInt8>) -> Void

  package init(
    _ name: String, _ title: String, longest: Int, memory: Int = 512, time: Int = 20,
    run: @escaping @Sendable (ArraySlice<UInt8>) -> Void
  ) {
    self.name = name
    self.title = title
    self.longest = longest
    self.memory = memory
    self.time = time
    self.run = run
  }

  /// The target as Lab/fuzz reads it.
  package var line: String { "\(name)|\(longest)|\(memory)|\(time)|\(title)" }
}

/// Whether a walk keeps its events and prints them: it does when an input is repeated.
package let keepsEvents = unsafe getenv("PEER_FUZZ_EVENTS") != nil

/// Prints the events of a walk, before a promise of it ends the program.
package func tell(_ events: [String]) {
  for event in events { print(event) }
  fflush(nil)
}

/// Ends the program, with a message, unless a promise is kept.
@inlinable
package func promise(_ isKept: Bool, _ broken: @autoclosure () -> String) {
  if !isKept { fatalError(broken()) }
}

/// The value that `body` reads; nil where it refuses the bytes, with any error.
package func read<Value>(_ body: () throws -> Value?) -> Value? {
  do { return try body() } catch { return nil }
}
