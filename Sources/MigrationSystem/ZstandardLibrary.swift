import Glibc

/// The functions of libzstd that are called, if this machine has them. The library is opened at run
/// time and never linked.
@safe struct ZstandardLibrary: Sendable {
  typealias Make = @convention(c) @Sendable () -> OpaquePointer?
  typealias Free = @convention(c) @Sendable (OpaquePointer?) -> Int
  typealias Compress =
    @convention(c) @Sendable (
      OpaquePointer?, UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int, CInt
    ) -> Int
  typealias Decompress =
    @convention(c) @Sendable (
      OpaquePointer?, UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int
    ) -> Int
  typealias Measure = @convention(c) @Sendable (UnsafeRawPointer?, Int) -> Int
  typealias IsError = @convention(c) @Sendable (Int) -> CUnsignedInt

  let makeCompressor: Make
  let freeCompressor: Free
  let compress: Compress
  let makeDecompressor: Make
  let freeDecompressor: Free
  let decompress: Decompress
  let frameLength: Measure
  let isError: IsError

  /// Opened once; nil if it is missing or incompatible.
  static let shared = ZstandardLibrary()

  private init?() {
    guard let handle = unsafe dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL),
      let makeCompressor = unsafe dlsym(handle, "ZSTD_createCCtx"),
      let freeCompressor = unsafe dlsym(handle, "ZSTD_freeCCtx"),
      let compress = unsafe dlsym(handle, "ZSTD_compressCCtx"),
      let makeDecompressor = unsafe dlsym(handle, "ZSTD_createDCtx"),
      let freeDecompressor = unsafe dlsym(handle, "ZSTD_freeDCtx"),
      let decompress = unsafe dlsym(handle, "ZSTD_decompressDCtx"),
      let frameLength = unsafe dlsym(handle, "ZSTD_findFrameCompressedSize"),
      let isError = unsafe dlsym(handle, "ZSTD_isError")
    else { return nil }
    unsafe self.makeCompressor = unsafe unsafeBitCast(makeCompressor, to: Make.self)
    unsafe self.freeCompressor = unsafe unsafeBitCast(freeCompressor, to: Free.self)
    unsafe self.compress = unsafe unsafeBitCast(compress, to: Compress.self)
    unsafe self.makeDecompressor = unsafe unsafeBitCast(makeDecompressor, to: Make.self)
    unsafe self.freeDecompressor = unsafe unsafeBitCast(freeDecompressor, to: Free.self)
    unsafe self.decompress = unsafe unsafeBitCast(decompress, to: Decompress.self)
    unsafe self.frameLength = unsafe unsafeBitCast(frameLength, to: Measure.self)
    self.isError = unsafe unsafeBitCast(isError, to: IsError.self)
  }
}
