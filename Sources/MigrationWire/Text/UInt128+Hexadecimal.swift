extension UInt128 {
  /// All 32 digits, as the bytes come on the wire.
  package var hexadecimal: String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
  }
}
