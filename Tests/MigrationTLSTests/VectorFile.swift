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

/// Bytes that follow a pattern with a period longer than any buffer.
func patternedBytes(_ count: Int, seed: UInt64) -> [UInt8] {
  var state = seed
  var bytes = [UInt8](repeating: 0, count: count)
  bytes.withUnsafeMutableBytes { raw in
    var offset = 0
    while offset + 8 <= count {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      raw.storeBytes(of: state ^ state >> 29, toByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    while offset < count {
      raw[offset] = UInt8(truncatingIfNeeded: offset &* 31 &+ Int(seed & 0xff))
      offset += 1
    }
  }
  return bytes
}
