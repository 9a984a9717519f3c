import COpenSSL

/// The curve P-256 and the scratch memory for working on it.
@safe struct P256: ~Copyable {
  private static let operation = "the work on the curve"

  private let group: OpaquePointer
  private let scratch: OpaquePointer

  private init(group: OpaquePointer, scratch: OpaquePointer) {
    unsafe self.group = unsafe group
    unsafe self.scratch = unsafe scratch
  }

  deinit {
    unsafe EC_GROUP_free(group)
    unsafe BN_CTX_free(scratch)
  }

  /// Sets the curve up.
  init() throws(TLSError) {
    OpenSSL.clearErrors()
    let group = try unsafe require(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), Self.operation)
    guard let scratch = unsafe BN_CTX_secure_new() else {
      unsafe EC_GROUP_free(group)
      throw .fromQueue(.library, operation: Self.operation)
    }
    unsafe self.init(group: group, scratch: scratch)
  }

  // MARK: Scalars

  /// A number from 1 to the order of the curve less one, drawn at random.
  func randomScalar() throws(TLSError) -> Scalar {
    let scalar = try Scalar()
    repeat {
      try unsafe require(BN_priv_rand_range(scalar.number, EC_GROUP_get0_order(group)), Self.operation)
    } while unsafe BN_is_zero(scalar.number) == 1
    return scalar
  }

  /// Maps a long number, big-endian, to 1 … order − 1: its remainder modulo (order − 1), plus 1.
  func scalar(reducing bytes: RawSpan) throws(TLSError) -> Scalar {
    let number = try Scalar(bytes)
    let modulus = try Scalar()
    let result = try Scalar()
    guard unsafe BN_copy(modulus.number, EC_GROUP_get0_order(group)) != nil else {
      throw .fromQueue(.library, operation: Self.operation)
    }
    try unsafe require(BN_sub_word(modulus.number, 1), Self.operation)
    try unsafe require(peer_BN_mod(result.number, number.number, modulus.number, scratch), Self.operation)
    try unsafe require(BN_add_word(result.number, 1), Self.operation)
    return result
  }

  // MARK: Points

  /// Reads a point that came from outside: 65 bytes, not compressed, on the curve, not infinity.
  func point(share bytes: [UInt8]) throws(TLSError) -> Point {
    // OpenSSL would also take the one byte of infinity, and compressed and hybrid forms.
    guard bytes.count == Point.byteCount, bytes[0] == Point.uncompressed else {
      throw TLSError(.invalidShare, operation: "the check of a pairing share", detail: "not an uncompressed point")
    }
    let point = try decode(bytes, code: .invalidShare)
    guard !isInfinity(point) else {
      throw TLSError(.invalidShare, operation: "the check of a pairing share", detail: "the point at infinity")
    }
    return point
  }

  /// Reads a point in any form that OpenSSL knows.
  func decode(_ bytes: [UInt8], code: TLSError.Code = .library) throws(TLSError) -> Point {
    let point = try newPoint()
    try unsafe require(EC_POINT_oct2point(group, point.point, bytes, bytes.count, scratch), Self.operation, code: code)
    return point
  }

  /// Writes a point in 65 bytes.
  func encode(_ point: borrowing Point) throws(TLSError) -> [UInt8] {
    var written = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Point.byteCount) { buffer, initialized in
      written = unsafe EC_POINT_point2oct(
        group, point.point, POINT_CONVERSION_UNCOMPRESSED, buffer.baseAddress, buffer.count, scratch)
      initialized = min(written, Point.byteCount)
    }
    guard written == Point.byteCount else { throw .fromQueue(.library, operation: Self.operation) }
    return bytes
  }

  /// scalar · point
  func multiply(_ point: borrowing Point, by scalar: borrowing Scalar) throws(TLSError) -> Point {
    let product = try newPoint()
    try unsafe require(
      EC_POINT_mul(group, product.point, nil, point.point, scalar.number, scratch), Self.operation)
    return product
  }

  /// scalar · G
  func multiplyGenerator(by scalar: borrowing Scalar) throws(TLSError) -> Point {
    let product = try newPoint()
    try unsafe require(EC_POINT_mul(group, product.point, scalar.number, nil, nil, scratch), Self.operation)
    return product
  }

  /// first + second
  func add(_ first: borrowing Point, _ second: borrowing Point) throws(TLSError) -> Point {
    let sum = try newPoint()
    try unsafe require(EC_POINT_add(group, sum.point, first.point, second.point, scratch), Self.operation)
    return sum
  }

  /// first − second
  func subtract(_ first: borrowing Point, _ second: consuming Point) throws(TLSError) -> Point {
    try unsafe require(EC_POINT_invert(group, second.point, scratch), Self.operation)
    return try add(first, second)
  }

  /// Whether a point is the neutral element.
  func isInfinity(_ point: borrowing Point) -> Bool {
    unsafe EC_POINT_is_at_infinity(group, point.point) != 0
  }

  private func newPoint() throws(TLSError) -> Point {
    try unsafe Point(adopting: require(EC_POINT_new(group), Self.operation))
  }
}

extension P256 {
  /// A point of the curve, wiped when it is given up.
  @safe struct Point: ~Copyable {
    /// The length of a point that is neither compressed nor infinity.
    static let byteCount = 65
    /// The first byte of such a point.
    static let uncompressed: UInt8 = 0x04

    fileprivate let point: OpaquePointer

    fileprivate init(adopting point: OpaquePointer) {
      unsafe self.point = unsafe point
    }

    deinit {
      unsafe EC_POINT_clear_free(point)
    }
  }

  /// A secret number, wiped when it is given up.
  @safe struct Scalar: ~Copyable {
    /// The length of a scalar in bytes.
    static let byteCount = 32

    fileprivate let number: OpaquePointer

    private init(adopting number: OpaquePointer) {
      unsafe self.number = unsafe number
      unsafe BN_set_flags(number, BN_FLG_CONSTTIME)
    }

    deinit {
      unsafe BN_clear_free(number)
    }

    /// Makes zero.
    fileprivate init() throws(TLSError) {
      unsafe self.init(adopting: try require(BN_secure_new(), P256.operation))
    }

    /// Reads a number, big-endian.
    init(_ bytes: RawSpan) throws(TLSError) {
      try self.init()
      let number = unsafe self.number
      let read = unsafe bytes.withUnsafeBytes { bytes in
        unsafe BN_bin2bn(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count), number)
      }
      guard unsafe read != nil else { fatalError("OpenSSL has no memory for a number") }
    }

    /// Writes the number in 32 bytes, big-endian.
    func encoded() throws(TLSError) -> SecretBytes {
      var bytes = SecretBytes(zeros: Self.byteCount)
      let written = unsafe bytes.withMutablePointer { out in
        unsafe BN_bn2binpad(number, out.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(out.count))
      }
      try require(written, P256.operation)
      return bytes
    }
  }
}
