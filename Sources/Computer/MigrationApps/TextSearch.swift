/// Finds a text in bytes in one pass, however alike the two are: the search of Knuth, Morris and Pratt.
struct TextSearch: Sendable {
  let text: [UInt8]
  /// For each beginning of the text, the length of the longest shorter beginning that ends it.
  private let shorter: [Int]

  /// - Parameter text: not empty.
  init(_ text: [UInt8]) {
    self.text = text
    var shorter = [0]
    var length = 0
    for byte in text.dropFirst() {
      while length > 0, text[length] != byte { length = shorter[length - 1] }
      if text[length] == byte { length += 1 }
      shorter.append(length)
    }
    self.shorter = shorter
  }

  /// The places where the text begins, in order.
  func places(in content: [UInt8]) -> [Int] {
    var (places, length): ([Int], Int) = ([], 0)
    for (index, byte) in content.enumerated() {
      while length > 0, length == text.count || text[length] != byte { length = shorter[length - 1] }
      if text[length] == byte { length += 1 }
      if length == text.count { places.append(index + 1 - length) }
    }
    return places
  }
}
