/// Detects data that cannot be compressed, such as pictures and archives, from a few of its bytes.
enum NoiseLook {
  /// How many places are looked at, and how many bytes at each.
  private static let places = 16
  private static let length = 256

  /// Whether the bytes are spread about as evenly as noise has them.
  ///
  /// Counted are the pairs of equal bytes. Noise has 1 in 256; text and programs have many times as
  /// many.
  static func isNoise(_ bytes: [UInt8], count: Int) -> Bool {
    let sample = places * length
    guard count >= sample else { return false }
    var counts = [Int](repeating: 0, count: 256)
    for place in 0..<places {
      let start = (count - length) / (places - 1) * place
      for index in start..<start + length { counts[Int(bytes[index])] += 1 }
    }
    let pairs = counts.reduce(0) { $0 + $1 * $1 } - sample
    // A quarter more than expected is still taken for noise.
    return pairs < sample * (sample - 1) / 256 * 5 / 4
  }
}
