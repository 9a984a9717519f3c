import COpenSSL

/// OpenSSL as a whole.
enum OpenSSL {
  /// Has OpenSSL keep its tables when the process calls `exit`. Threads of a transfer may still use
  /// them then, and the process would crash or hang.
  ///
  /// OpenSSL listens to this only before its first use in a process, so each function that may be
  /// the first one calls this.
  static func begin() { _ = keepsTables }

  /// Empties this thread's error queue, so that it later has the reasons of the next calls only.
  /// This may be the first use of OpenSSL, too.
  static func clearErrors() {
    begin()
    ERR_clear_error()
  }

  private static let keepsTables: Bool = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
