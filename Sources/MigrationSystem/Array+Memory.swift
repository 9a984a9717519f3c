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
