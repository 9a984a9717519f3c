import Glibc

/// One thread's compressor of libzstd, where this machine has that library. It is opened at run time and never linked.
@safe package struct Zstandard: ~Copyable {
  /// The library's functions that are called.
  @safe private struct Library: Sendable {
    typealias Make = @convention(c) @Sendable () -> OpaquePointer?
    typealias Free = @convention(c) @Sendable (OpaquePointer?) -> Int
    typealias Compress =
      @convention(c) @Sendable (
        OpaquePointer?, UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int, CInt
      ) -> Int
    typealias IsError = @convention(c) @Sendable (Int) -> CUnsignedInt

    let make: Make
    let free: Free
    let compress: Compress
    let isError: IsError

    /// Opened once; nil where it is missing or strange.
    static let shared = Library()

    private init?() {
      guard let handle = unsafe dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL),
        let make = unsafe dlsym(handle, "ZSTD_createCCtx"), let free = unsafe dlsym(handle, "ZSTD_freeCCtx"),
        let compress = unsafe dlsym(handle, "ZSTD_compressCCtx"), let isError = unsafe dlsym(handle, "ZSTD_isError")
      else { return nil }
      unsafe self.make = unsafe unsafeBitCast(make, to: Make.self)
      unsafe self.free = unsafe unsafeBitCast(free, to: Free.self)
      unsafe self.compress = unsafe unsafeBitCast(compress, to: Compress.self)
      self.isError = unsafe unsafeBitCast(isError, to: IsError.self)
    }
  }

  /// The fastest of the usual levels.
  private static let level: CInt = 1

  private let library: Library
  private let context: OpaquePointer

  /// Fails where the library is missing.
  package init?() {
    guard let library = Library.shared, let context = unsafe library.make() else { return nil }
    self.library = library
    unsafe self.context = context
  }

  deinit { _ = unsafe library.free(context) }

  /// Compresses bytes to the front of a buffer; how many they come to, nil if they do not fit.
  package func compress(_ bytes: RawSpan, into buffer: inout [UInt8]) -> Int? {
    let size = unsafe bytes.withUnsafeBytes { source in
      unsafe buffer.withUnsafeMutableBytes { target in
        unsafe library.compress(
          context, target.baseAddress, target.count, source.baseAddress, source.count, Self.level)
      }
    }
    return library.isError(size) == 0 ? size : nil
  }
}
