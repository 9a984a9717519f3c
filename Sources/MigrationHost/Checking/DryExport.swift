package import MigrationWire

/// The items that an exporter has appended to an archive that is discarded.
package struct DryExport: Sendable {
  /// The first few of many.
  package struct Some<Element: Sendable>: Sendable {
    package private(set) var first: [Element] = []
    package private(set) var count: UInt64 = 0

    /// The number of elements that are kept.
    private static var most: Int { 100 }

    mutating func note(_ element: Element) {
      count += 1
      if first.count < Self.most { first.append(element) }
    }
  }

  /// The contents of the archive under each of its first top-level names.
  package struct Roots: Sendable {
    package struct Root: Equatable, Sendable {
      package let name: [UInt8]
      package fileprivate(set) var isDirectory: Bool
      /// The total of its contents, including itself.
      package fileprivate(set) var total = Tally()
    }

    /// Further names are only counted.
    private static let most = 1_000

    private var roots: [[UInt8]: Root] = [:]
    /// The number of items under other names.
    package private(set) var others: UInt64 = 0

    /// By name.
    package var all: [Root] { roots.values.sorted { $0.name.lexicographicallyPrecedes($1.name) } }

    mutating func note(_ record: ItemRecord) {
      let bytes = record.path.bytes
      let slash = bytes.firstIndex(of: UInt8(ascii: "/"))
      let name = Array(bytes[..<(slash ?? bytes.endIndex)])
      guard roots[name] != nil || roots.count < Self.most else {
        others += 1
        return
      }
      var root = roots[name] ?? Root(name: name, isDirectory: false)
      if slash != nil || record.kind == .directory { root.isDirectory = true }
      root.total.items += 1
      root.total.bytes += record.size
      roots[name] = root
    }
  }

  /// The extension's description from before the export.
  package let version: String
  package let estimate: UInt64
  package let isCompressible: Bool
  package let roots: Roots
  package let total: Tally
  /// From the request for everything to the end, in seconds.
  package let seconds: Double
  /// The appended items that could not be read, or kept changing.
  package let unsent: Some<Unsent>
  /// The number of refused appends, and the first of the answers.
  package let refused: Some<ReportedError>
  /// The size of the temporary files that the exporter has left.
  package let scratchBytes: UInt64

  /// Whether a notice about the wrong estimate is due.
  package var isEstimateOff: Bool { EstimatedSize.isOff(estimate, from: total.bytes) }
}
