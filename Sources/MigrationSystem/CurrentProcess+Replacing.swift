import Glibc

extension CurrentProcess {
  /// Becomes another program, under this process's number; returns only with the reason for a
  /// failure.
  ///
  /// Descriptors that close on exec are closed, and a broken pipe ends the program again, as
  /// programs expect.
  package static func replace(
    with program: [UInt8], arguments: [[UInt8]], environment: [String: String]
  ) -> SystemError {
    let variables = environment.sorted { $0.key < $1.key }.map { Array("\($0.key)=\($0.value)".utf8) }
    var argv = unsafe CStrings(arguments)
    var envp = unsafe CStrings(variables)
    defer {
      unsafe argv.free()
      unsafe envp.free()
    }
    let former = signal(SIGPIPE, SIG_DFL)
    defer { _ = signal(SIGPIPE, former) }
    do {
      try unsafe program.callingPath("start") { path in unsafe execve(path, argv.pointers, envp.pointers) }
      preconditionFailure("a program that was started does not return")
    } catch {
      return error
    }
  }
}

/// Texts for the kernel: a pointer to each, and nil at the end.
@unsafe struct CStrings {
  private(set) var pointers: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [[UInt8]]) {
    unsafe pointers = texts.map { text in
      let copy = UnsafeMutablePointer<CChar>.allocate(capacity: text.count + 1)
      for (index, byte) in text.enumerated() { unsafe copy[index] = CChar(bitPattern: byte) }
      unsafe copy[text.count] = 0
      return unsafe copy
    }
    unsafe pointers.append(nil)
  }

  mutating func free() {
    for index in unsafe pointers.indices { unsafe pointers[index]?.deallocate() }
    unsafe pointers = []
  }
}
