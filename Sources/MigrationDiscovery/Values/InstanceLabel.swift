/// Makes the first label of an instance's name from a device's name.
package enum InstanceLabel {
  /// The label as bytes: the text without control characters and without surrounding spaces, or
  /// "peer" if nothing is left. A label that is too long is cut between two characters. From the
  /// second attempt on, a number follows: "laptop (2)".
  package static func bytes(_ text: String, attempt: Int = 1) -> [UInt8] {
    let suffix = attempt > 1 ? Array(" (\(attempt))".utf8) : []
    var visible = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
    while visible.first?.properties.isWhitespace == true { visible.removeFirst() }
    while visible.last?.properties.isWhitespace == true { visible.removeLast() }
    let whole = visible.isEmpty ? "peer" : String(visible)
    return prefix(whole, atMost: DNSName.longestLabel - suffix.count) + suffix
  }

  /// As many whole characters as fit; of a single character that is too long, as many scalars as
  /// fit.
  private static func prefix(_ text: String, atMost count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for character in text {
      guard bytes.count + character.utf8.count <= count else { break }
      bytes += character.utf8
    }
    guard bytes.isEmpty else { return bytes }
    for scalar in text.unicodeScalars {
      let encoded = Array(String(scalar).utf8)
      guard bytes.count + encoded.count <= count else { break }
      bytes += encoded
    }
    return bytes
  }
}
