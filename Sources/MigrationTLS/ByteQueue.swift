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
