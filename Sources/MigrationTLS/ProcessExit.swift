import COpenSSL

/// OpenSSL's behaviour when the process exits.
package enum ProcessExit {
  /// Has OpenSSL keep its tables when the process calls `exit`: threads of a transfer may still use
  /// them. It holds if OpenSSL was not used in this process before.
  package static func leaveThreadsTheirTables() {
    OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
  }
}
