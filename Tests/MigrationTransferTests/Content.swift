import Foundation
import TestSupport

extension Scratch {
  /// A file's content, nil if there is none. `Data` compares megabytes fast, and shows few of them.
  func content(_ name: String) -> Data? { FileManager.default.contents(atPath: path(name)) }
}

/// Bytes that differ everywhere, to be compared with a file's content.
func patternData(_ count: Int, seed: UInt64 = 1) -> Data { Data(pattern(count, seed: seed)) }
