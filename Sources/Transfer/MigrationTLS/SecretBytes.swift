import COpenSSL

/// Bytes that are wiped when their last user is gone.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
  // Unchecked because of the pointer: the memory has this one owner, and only `mutating` functions
  // write to it.
  private let storage: UnsafeMutableRawBufferPointer

  /// Makes `count` zero bytes.
  init(zeros count: Int) {
    unsafe storage = .allocate(byteCount: count, alignment: 1)
    unsafe storage.initializeMemory(as: UInt8.self, repeating: 0)
  }

  /// Copies bytes into memory that will be wiped.
  init(_ bytes: RawSpan) {
    unsafe storage = .allocate(byteCount: bytes.byteCount, alignment: 1)
    unsafe bytes.withUnsafeBytes { unsafe storage.copyMemory(from: $0) }
  }

  deinit {
    unsafe OPENSSL_cleanse(storage.baseAddress, storage.count)
    unsafe storage.deallocate()
  }

  /// The number of bytes.
  package var count: Int {
    unsafe storage.count
  }

  /// Runs `body` with the bytes.
  package func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try body(unsafe storage.bytes)
  }

  /// Runs `body` with the memory, to be written by C.
  mutating func withMutablePointer<R: ~Copyable, E: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe body(storage)
  }

  /// Copies some of the bytes.
  func part(_ range: Range<Int>) -> SecretBytes {
    SecretBytes(unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(storage)[range]).bytes)
  }

  /// Copies the bytes into an array, which is not wiped automatically.
  package func copied() -> [UInt8] {
    unsafe Array(storage)
  }
}

/// Compares two byte strings in a time that tells nothing about where they differ; lengths are not
/// secret.
package func constantTimeEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
  unsafe first.count == second.count && CRYPTO_memcmp(first, second, first.count) == 0
}
