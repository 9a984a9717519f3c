/// Lends memory for the time of a call, on the stack if it is little. The standard library's own call throws no
/// typed error with every compiler that builds this.
@inline(__always)
func withStackMemory<Value: ~Copyable>(
  byteCount: Int, alignment: Int = 1, _ body: (UnsafeMutableRawBufferPointer) throws(SystemError) -> Value
) throws(SystemError) -> Value {
  let result: Result<Value, SystemError> = unsafe withUnsafeTemporaryAllocation(
    byteCount: byteCount, alignment: alignment
  ) { buffer in
    do throws(SystemError) { return .success(try unsafe body(buffer)) } catch { return .failure(error) }
  }
  return try result.get()
}
