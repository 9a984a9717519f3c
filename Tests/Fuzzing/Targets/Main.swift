import Glibc

/// The entry of the program that Scripts/fuzz builds: libFuzzer's own, with the target that the
/// variable PEER_FUZZ_TARGET names.
@main
enum Main {
  static func main() {
    guard let name = unsafe getenv("PEER_FUZZ_TARGET").map({ unsafe String(cString: $0) }) else {
      for target in FuzzTarget.all { print(target.line) }
      return
    }
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
      print("There is no target \(name).")
      exit(2)
    }
    chosen = target.run
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(runFuzzer(&count, &arguments, testOneInput))
  }
}

/// The reader of each input.
// Unsafe: it is set once, before libFuzzer calls it, and this program has one thread.
nonisolated(unsafe) private var chosen: (ArraySlice<UInt8>) -> Void = { _ in }

/// libFuzzer's main function, for programs that have one of their own.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
  _ count: UnsafeMutablePointer<Int32>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
  _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

private let testOneInput: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32 = { start, count in
  chosen(ArraySlice(UnsafeBufferPointer(start: start, count: count)))
  return 0
}
