import COpenSSL

/// Runs one of OpenSSL's `i2d_` functions twice, for the length and for the bytes; nil when it
/// refuses.
func derBytes(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
  let count = Int(encode(nil))
  guard count > 0 else { return nil }
  var written: Int32 = 0
  let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    var cursor = buffer.baseAddress
    written = unsafe encode(&cursor)
    initialized = Int(max(written, 0))
  }
  return Int(written) == count ? bytes : nil
}

/// Runs one of OpenSSL's `d2i_` functions over all of `bytes`; nil when it refuses or leaves
/// something over.
///
/// The caller owns the result; `release` frees it when something was left over.
func parseDER(
  _ bytes: ArraySlice<UInt8>,
  with decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?,
  release: (OpaquePointer) -> Void
) -> OpaquePointer? {
  OpenSSL.begin()
  return unsafe bytes.withUnsafeBufferPointer { buffer in
    var cursor = buffer.baseAddress
    guard let object = unsafe decode(&cursor, buffer.count) else {
      OpenSSL.clearErrors()
      return nil
    }
    guard unsafe cursor == buffer.baseAddress.map({ unsafe $0 + buffer.count }) else {
      unsafe release(object)
      return nil
    }
    return unsafe object
  }
}
