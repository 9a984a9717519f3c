import COpenSSL
import MigrationWire

extension TLSSession {
  /// The ciphertext of one session in both directions. OpenSSL uses it like a socket.
  struct Transport: ~Copyable {
    /// Ciphertext that came from the peer.
    var input: ByteQueue
    /// Ciphertext for the peer.
    var output: ByteQueue
    /// Whether `input` is complete.
    var inputEnded = false
    /// The peer's messages without plaintext since `tally` was last set to zero.
    var tally = SilentTally()
    /// The only key that the peer may show, if there is one.
    let pinned: KeyFingerprint?
    /// Another key that the peer has shown.
    var stranger: KeyFingerprint?

    /// Makes both queues empty.
    init(inputLimit: Int, outputLimit: Int, pinned: KeyFingerprint?) {
      self.pinned = pinned
      input = ByteQueue(limit: inputLimit)
      output = ByteQueue(limit: outputLimit)
    }

    /// Makes OpenSSL report each message without plaintext to a transport, which must outlive the
    /// connection.
    static func watch(_ connection: OpaquePointer, on transport: UnsafeMutablePointer<Transport>) {
      unsafe SSL_set_msg_callback(connection, noteMessage)
      unsafe peer_SSL_set_msg_callback_arg(connection, transport)
    }

    /// Makes a BIO on a transport that must outlive it.
    static func makeBIO(on transport: UnsafeMutablePointer<Transport>) throws(TLSError) -> OpaquePointer {
      let bio = try unsafe require(BIO_new(method.pointer), "the set-up of TLS")
      unsafe BIO_set_data(bio, transport)
      unsafe BIO_set_init(bio, 1)
      return unsafe bio
    }

    /// The C functions that every BIO of this program shares.
    @safe private struct Method: @unchecked Sendable {
      // Unchecked because of the C pointer: the table never changes after its creation, and it lives
      // as long as the program.
      let pointer: OpaquePointer

      init() {
        guard let method = unsafe BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "peer transport"),
          unsafe BIO_meth_set_read_ex(method, readInput) == 1,
          unsafe BIO_meth_set_write_ex(method, writeOutput) == 1,
          unsafe BIO_meth_set_ctrl(method, control) == 1
        else { fatalError("OpenSSL has no memory for a BIO method") }
        unsafe pointer = unsafe method
      }
    }

    private static let method = Method()

    /// The transport of the connection whose peer's certificate is judged.
    static func judged(in store: OpaquePointer?) -> UnsafeMutablePointer<Transport>? {
      let connection = unsafe X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx())
      return unsafe connection.map { unsafe transport(of: SSL_get_rbio(OpaquePointer($0))) }
    }

    fileprivate var hasEnded: Bool { inputEnded && input.count == 0 }

    /// A bounded queue of bytes that lie in one piece, so that C can read and write them where they
    /// are.
    @safe struct ByteQueue: ~Copyable {
      /// The most bytes that the queue holds.
      let limit: Int

      private let storage: UnsafeMutableRawBufferPointer
      private var head = 0
      private var tail = 0

      /// Makes an empty queue.
      init(limit: Int) {
        self.limit = limit
        // Twice the limit: the bytes then move to the front at most once for every `limit` bytes that
        // pass. Memory that is never used costs an address, no page.
        unsafe storage = .allocate(byteCount: 2 * limit, alignment: 16)
      }

      deinit {
        unsafe storage.deallocate()
      }

      /// The number of bytes in the queue.
      var count: Int { tail - head }

      /// The number of bytes that still fit.
      var space: Int { limit - count }

      /// Lets `body` write into all the free space; it returns how many bytes it wrote.
      mutating func fill<E: Error>(_ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int) throws(E) -> Int {
        let space = space
        if unsafe tail + space > storage.count { moveToFront() }
        let written = try unsafe body(UnsafeMutableRawBufferPointer(rebasing: storage[tail..<(tail + space)]))
        precondition(0...space ~= written, "more bytes were written than there was space")
        tail += written
        return written
      }

      /// Lets `body` read all that is in the queue; it returns how many bytes it is done with.
      mutating func drain<E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> Int) throws(E) -> Int {
        let taken = try unsafe body(UnsafeRawBufferPointer(rebasing: storage[head..<tail]))
        precondition(0...count ~= taken, "more bytes were taken than there were")
        head += taken
        if head == tail {
          head = 0
          tail = 0
        }
        return taken
      }

      private mutating func moveToFront() {
        unsafe storage.baseAddress?.copyMemory(from: storage.baseAddress! + head, byteCount: count)
        tail = count
        head = 0
      }
    }
  }
}

/// Counts the peer's messages without plaintext in an established session: TLS's own messages.
package struct SilentTally: Equatable, Sendable {
  /// Records without plaintext.
  package var records = 0
  /// Renewals of the peer's key.
  package var keyUpdates = 0
}

/// Gives OpenSSL as much input as there is and as OpenSSL has room for.
private func readInput(
  _ bio: OpaquePointer?, _ target: UnsafeMutablePointer<CChar>?, _ room: Int, _ moved: UnsafeMutablePointer<Int>?
) -> Int32 {
  let transport = unsafe transport(of: bio)
  unsafe peer_BIO_clear_retry_flags(bio)
  guard unsafe transport.pointee.input.count > 0 else {
    unsafe moved?.pointee = 0
    if unsafe transport.pointee.inputEnded { return 0 }
    unsafe peer_BIO_set_retry_read(bio)
    return -1
  }
  let count = unsafe transport.pointee.input.drain { bytes in
    let count = min(bytes.count, room)
    unsafe UnsafeMutableRawPointer(target!).copyMemory(from: bytes.baseAddress!, byteCount: count)
    return count
  }
  unsafe moved?.pointee = count
  return 1
}

/// Takes all of the bytes, or none if they do not fit, so that no record is ever half written.
private func writeOutput(
  _ bio: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ count: Int, _ moved: UnsafeMutablePointer<Int>?
) -> Int32 {
  let transport = unsafe transport(of: bio)
  unsafe peer_BIO_clear_retry_flags(bio)
  guard unsafe count <= transport.pointee.output.space else {
    unsafe moved?.pointee = 0
    unsafe peer_BIO_set_retry_write(bio)
    return -1
  }
  let written = unsafe transport.pointee.output.fill { room in
    unsafe room.copyMemory(from: UnsafeRawBufferPointer(start: source, count: count))
    return count
  }
  unsafe moved?.pointee = written
  return 1
}

/// Answers OpenSSL's other questions to a BIO. 0 means "no" or "not known", also for the kernel's
/// TLS.
private func control(
  _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
  switch command {
  case BIO_CTRL_FLUSH: 1
  case BIO_CTRL_EOF: unsafe transport(of: bio).pointee.hasEnded ? 1 : 0
  case BIO_CTRL_PENDING: unsafe transport(of: bio).pointee.input.count
  case BIO_CTRL_WPENDING: unsafe transport(of: bio).pointee.output.count
  default: 0
  }
}

private func transport(of bio: OpaquePointer?) -> UnsafeMutablePointer<TLSSession.Transport> {
  unsafe BIO_get_data(bio).assumingMemoryBound(to: TLSSession.Transport.self)
}

/// Counts received messages: OpenSSL calls this for each record with the type inside it, and for
/// each message of TLS itself.
private func noteMessage(
  _ isWritten: Int32, _ version: Int32, _ type: Int32, _ content: UnsafeRawPointer?, _ count: Int,
  _ connection: OpaquePointer?, _ transport: UnsafeMutableRawPointer?
) {
  guard isWritten == 0, count > 0, let first = unsafe content?.load(as: UInt8.self),
    let transport = unsafe transport?.assumingMemoryBound(to: TLSSession.Transport.self)
  else { return }
  switch type {
  case SSL3_RT_INNER_CONTENT_TYPE where Int32(first) != SSL3_RT_APPLICATION_DATA:
    unsafe transport.pointee.tally.records += 1
  case SSL3_RT_HANDSHAKE where Int32(first) == SSL3_MT_KEY_UPDATE:
    unsafe transport.pointee.tally.keyUpdates += 1
  default: break
  }
}
