import Glibc

/// Makes a system call, repeats it after each interruption, and turns -1 into an error.
@inline(__always)
func calling<Result: FixedWidthInteger & SignedInteger>(
  _ operation: String, _ subject: @autoclosure () -> String? = nil, _ body: () -> Result
) throws(SystemError) -> Result {
  LoopThread.check(operation)
  while true {
    let result = body()
    if result != -1 { return result }
    let error = errno
    if error == EINTR { continue }
    throw SystemError(errno: error, operation: operation, subject: subject())
  }
}

/// Makes a system call whose result shows only its success.
@inline(__always)
func perform(
  _ operation: String, _ subject: @autoclosure () -> String? = nil, _ body: () -> CInt
) throws(SystemError) {
  _ = try calling(operation, subject(), body)
}
