import Foundation
import TestSupport

@testable import MigrationWire

/// Text to the bytes of its UTF-8.
func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A path that is known to be valid.
func path(_ text: String) -> ArchivePath { try! ArchivePath(ascii(text)) }

/// Bytes that count up from `start`.
func run(_ start: UInt8, _ count: Int) -> [UInt8] { (0..<count).map { start &+ UInt8(truncatingIfNeeded: $0) } }

/// Sixteen bytes that count up from `start`, as an integer.
func counted(_ start: UInt8) -> UInt128 { run(start, 16).reduce(0) { $0 << 8 | UInt128($1) } }

/// Reads pairs of hexadecimal digits.
func bytes(hex: some StringProtocol) -> [UInt8] {
  let digits = hex.map { UInt8($0.hexDigitValue!) }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// The violation that `body` throws, nil when it throws none.
func violation(_ body: () throws(Violation) -> Void) -> Violation.Code? { thrown(by: body)?.code }

/// One frame in a file below `Vectors`.
struct Vector: Sendable, CustomStringConvertible {
  let name: String
  let bytes: [UInt8]

  var description: String { name }
  /// A frame before READY, where frames have another form.
  var isEarly: Bool { name.hasPrefix("pairing-") }

  /// All of them, by name.
  static let all: [Vector] = {
    let urls = Bundle.module.urls(forResourcesWithExtension: "hex", subdirectory: "Vectors") ?? []
    return urls.map { url in
      let url = url as URL
      let digits = lines(url).joined()
      return Vector(name: url.deletingPathExtension().lastPathComponent, bytes: MigrationWireTests.bytes(hex: digits))
    }.sorted { $0.name < $1.name }
  }()

  /// Those of which every byte can be changed in little time.
  static let short = all.filter { $0.bytes.count < 2_000 }

  /// The vector of that name.
  static func named(_ name: String) -> Vector { all.first { $0.name == name }! }

  /// Its text.
  func decoded() throws(Violation) -> Frame {
    guard let frame = try isEarly ? .early(PairingFrame(bytes.span)) : Frame(bytes) else {
      throw Violation(.unknown, "a vector")
    }
    return frame
  }
}

/// The lines of a file below `Vectors` without its remarks.
func lines(_ name: String) -> [Substring] {
  lines(Bundle.module.url(forResource: name, withExtension: "txt", subdirectory: "Vectors")!)
}

private func lines(_ url: URL) -> [Substring] {
  let text = try! String(contentsOf: url, encoding: .utf8)
  return text.split(separator: "\n").filter { !$0.hasPrefix("#") }
}

extension Ledger {
  /// Whether this is exactly the archive of the sender's FINISH.
  func agrees(with finish: Finish) -> Bool { difference(from: finish) == nil }
}
