package import MigrationWire

/// What an exporter has appended to an archive that is thrown away.
package struct DryExport: Sendable {
  /// The first few of many.
  package struct Some<Element: Sendable>: Sendable {
    package private(set) var first: [Element] = []
    package private(set) var count: UInt64 = 0

    /// How many are kept.
    private static var most: Int { 100 }

    mutating func note(_ element: Element) {
      count += 1
      if first.count < Self.most { first.append(element) }
    }
  }

  /// What the archive holds under each of its first names.
  package struct Roots: Sendable {
    package struct Root: Equatable, Sendable {
      package let name: [UInt8]
      package fileprivate(set) var isDirectory: Bool
      /// All that is in it, itself included.
      package fileprivate(set) var total = Tally()
    }

    /// More names than that are only counted.
    private static let most = 1_000

    private var roots: [[UInt8]: Root] = [:]
    /// How many items are under other names.
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

  /// What the extension said before.
  package let version: String
  package let estimate: UInt64
  package let isCompressible: Bool
  package let roots: Roots
  package let total: Tally
  /// From the question for everything to its end.
  package let seconds: Double
  /// What of that was appended could not be read, or changed all the time.
  package let unsent: Some<Unsent>
  /// How many of the appends were refused, and the first of the answers.
  package let refused: Some<ReportedError>
  /// How much of its temporary files the exporter has left.
  package let scratchBytes: UInt64

  /// Whether it has to be said that the estimate was off.
  package var isEstimateOff: Bool { EstimatedSize.isOff(estimate, from: total.bytes) }
}
