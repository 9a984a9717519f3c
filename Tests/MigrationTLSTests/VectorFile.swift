import Foundation

/// One group of `name = hex` lines.
struct Vector: Sendable {
  private let fields: [String: [UInt8]]

  fileprivate init(_ fields: [String: [UInt8]]) {
    self.fields = fields
  }

  subscript(name: String) -> [UInt8] {
    guard let bytes = fields[name] else { fatalError("the vector has no field '\(name)'") }
    return bytes
  }
}

/// The vectors in a file below `Vectors`: groups that an empty line ends, with `#` before remarks.
func vectors(in file: String) -> [Vector] {
  guard let url = Bundle.module.url(forResource: file, withExtension: "txt", subdirectory: "Vectors"),
    let text = try? String(contentsOf: url, encoding: .utf8)
  else { fatalError("there is no file of vectors '\(file)'") }
  var groups: [[String: [UInt8]]] = [[:]]
  for line in text.split(separator: "\n", omittingEmptySubsequences: false) where !line.hasPrefix("#") {
    if line.isEmpty {
      groups.append([:])
    } else {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      groups[groups.count - 1][parts[0]] = bytes(hex: parts[1])
    }
  }
  return groups.filter { !$0.isEmpty }.map(Vector.init)
}

/// Reads pairs of hexadecimal digits.
func bytes(hex: String) -> [UInt8] {
  let digits = hex.map { UInt8($0.hexDigitValue!) }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
