import Glibc

#if LIBFUZZER
  extension FuzzTarget {
    /// The entry of a program that Lab/fuzz builds: libFuzzer's own, with one of the targets,
    /// which the variable PEER_FUZZ_TARGET names. Without it the program lists its targets.
    package static func main(_ targets: [FuzzTarget]) {
      guard let name = unsafe getenv("PEER_FUZZ_TARGET").map({ unsafe String(cString: $0) }) else {
        for target in targets { print(target.line) }
        return
      }
      guard let target = targets.first(where: { $0.name == name }) else {
        print("There is no target \(name).")
        exit(2)
      }
      chosen = target
      cost = InputCost()
      var count = CommandLine.argc
      var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
      // libFuzzer mostly ends the program itself.
      atexit { print(cost.line) }
      exit(runFuzzer(&count, &arguments, testOneInput))
    }
  }

  /// The target that reads each input, and the cost of the inputs.
  // Unsafe: both are set before libFuzzer calls them, and it does so from one thread.
  nonisolated(unsafe) private var chosen = FuzzTarget("", "", longest: 0) { _ in }
  nonisolated(unsafe) private var cost = InputCost()

  /// libFuzzer's main function, for programs that have one of their own.
  @_silgen_name("LLVMFuzzerRunDriver")
  private func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
  ) -> Int32

  private let testOneInput: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32 = { start, count in
    cost.run(chosen, ArraySlice(UnsafeBufferPointer(start: start, count: count)))
    return 0
  }
#endif
