import CSystem
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

/// A place in which a caller wants a result, as functions of C take it: a pointer, or none.
///
/// It is used only while the function runs that was given the pointer.
@safe package struct ResultSlot<Value> {
  private let place: UnsafeMutablePointer<Value>?

  /// Takes the pointer of a caller.
  @safe package init(_ place: UnsafeMutablePointer<Value>?) { unsafe self.place = unsafe place }

  /// Whether the caller wants a result.
  package var isWanted: Bool { unsafe place != nil }

  /// Stores the result, if the caller wants one.
  package func store(_ value: Value) { unsafe place?.pointee = value }
}

extension String {
  /// Copies a text that a function of C has returned; nil for none.
  @safe package init?(ofC text: UnsafePointer<CChar>?) {
    guard let text = unsafe text else { return nil }
    unsafe self.init(cString: text)
  }
}

/// Parts of an array's memory, for what C and other modules write there.
extension [UInt8] {
  /// Lends a part of the bytes, to be written in place.
  package mutating func withPart<Result, Failure: Error>(
    _ range: Range<Int>, _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var memory = mutableSpan
    var part = memory._mutatingExtracting(range)
    return try body(&part)
  }

  /// Replaces as many bytes from an offset on as the source has; they must be there.
  ///
  /// `replaceSubrange` would also move all the bytes behind them.
  package mutating func overwrite(at offset: Int, with source: [UInt8]) {
    precondition(offset >= 0 && source.count <= count - offset, "the bytes that are replaced exist")
    unsafe withUnsafeMutableBytes { memory in
      unsafe UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + source.count]).copyBytes(from: source)
    }
  }
}

/// Unpredictable random bytes, from the kernel.
package enum SystemRandom {
  /// Returns random bytes.
  package static func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var target = bytes.mutableSpan
    try unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
      var done = 0
      while done < buffer.count {
        done += try calling("get random bytes") {
          unsafe csystem_random(buffer.baseAddress! + done, buffer.count - done)
        }
      }
    }
    return bytes
  }
}

/// Overwrites an array's bytes with zeros and empties it: for secrets, once they have been used.
///
/// The array must be the only holder of its memory, or a copy of it is wiped; earlier copies are
/// not reached either. A function that takes an array as an argument leaves it to its caller.
package func cleanse(_ bytes: inout [UInt8]) {
  unsafe bytes.withUnsafeMutableBytes { memory in
    if let start = memory.baseAddress { unsafe explicit_bzero(start, memory.count) }
  }
  bytes = []
}

/// Does the same with an array that may be missing.
package func cleanse(_ bytes: inout [UInt8]?) {
  guard var present = bytes.take() else { return }
  cleanse(&present)
}
