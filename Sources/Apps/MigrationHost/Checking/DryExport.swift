import MigrationArchive
import MigrationSystem
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
  package let unsent: Some<NotStored>
  /// The names in the archive's paths that look percent-encoded, of items that have the decoded
  /// names in the container.
  package let encoded: [[UInt8]]
  /// The number of refused appends, and the first of the answers.
  package let refused: Some<ReportedError>
  /// The path in the container of the app's settings, which have values and were appended neither as
  /// they are nor, as far as that can be told, in another form; nil if there are none.
  package let leftSettings: String?
  /// The size of the temporary files that the exporter has left.
  package let scratchBytes: UInt64

  /// Whether a notice about the wrong estimate is due.
  package var isEstimateOff: Bool { Offer.isEstimate(estimate, offFrom: total.bytes) }

  /// The names in the paths of an archive that look percent-encoded, with the decoded names.
  struct EncodedNames: Sendable {
    /// Further names are not looked at.
    private static let most = 1_000

    private var decoded: [[UInt8]: [UInt8]] = [:]

    mutating func note(_ path: [UInt8]) {
      guard path.contains(UInt8(ascii: "%")), decoded.count < Self.most else { return }
      for name in path.split(separator: UInt8(ascii: "/")) {
        if let other = Self.decode(name) { decoded[Array(name)] = other }
      }
    }

    /// The names whose decoded form a site has, and not the name itself.
    func filter(amongNamesOf site: ExtensionSite) -> [[UInt8]] {
      guard !decoded.isEmpty else { return [] }
      var found: Set<[UInt8]> = []
      let wanted = Set(decoded.keys).union(decoded.values)
      site.forEachItem { name, _ in
        if wanted.contains(name) { found.insert(name) }
        return true
      }
      return decoded.filter { found.contains($0.value) && !found.contains($0.key) }.keys
        .sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Undoes a percent encoding; nil for a name without one.
    private static func decode(_ name: ArraySlice<UInt8>) -> [UInt8]? {
      var bytes: [UInt8] = []
      var rest = name
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2,
          let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        {
          bytes.append(value)
          rest = rest.dropFirst(2)
        } else {
          bytes.append(byte)
        }
      }
      return bytes.count == name.count ? nil : bytes
    }
  }

  /// Reads an export as streams do, counts the data, and discards or extracts it.
  final class Reader: ExportListener, Sendable {
    private struct State: Sendable {
      var roots = DryExport.Roots()
      var unsent = DryExport.Some<NotStored>()
      var encoded = DryExport.EncodedNames()
      /// Why the data cannot be extracted.
      var failure: Failure?
      /// Whether there is news since the last look.
      var isNew = false
      var isOver = false
    }

    let stopSignal: StopSignal
    private let state = Condition(State())
    /// The pause between two looks if no time is known.
    private static let interval = Duration.milliseconds(50)

    /// Any key will do, the same for both ends.
    static let keys = TransferKeys(hashKey: 0)
    private let staging: Staging?
    private let tell: @Sendable (ItemRecord) -> Void

    /// - Parameters:
    ///   - staging: where the data is extracted; nil to discard it.
    ///   - tell: gets the record of each item.
    init(until stop: StopSignal, into staging: Staging?, telling tell: @escaping @Sendable (ItemRecord) -> Void) {
      stopSignal = stop
      self.staging = staging
      self.tell = tell
    }

    var failure: Failure? { state.withLock { $0.failure } }

    var roots: DryExport.Roots { state.withLock { $0.roots } }
    var unsent: DryExport.Some<NotStored> { state.withLock { $0.unsent } }
    var encoded: DryExport.EncodedNames { state.withLock { $0.encoded } }

    /// The settings of the export.
    var settings: ExportSettings { ExportSettings(listener: self, keys: Self.keys, held: HeldItems(), readers: 1) }

    /// Reads until `end` is called.
    func read(_ source: any FrameSource) {
      var number: UInt64 = 0
      var frame = FrameBuffer(capacity: ArchiveSizes().frameCapacity)
      let writer = staging.map { StagingWriter($0) }
      while !state.withLock({ $0.isOver }) {
        frame.removeAll()
        number += 1
        frame.number = number
        // All data that was read counts as written.
        switch source.fill(&frame, written: number) {
        case .full:
          note(frame)
          do {
            try writer?.write(frame.bytes.span, entries: 0..<frame.count)
          } catch {
            state.withLock { state in
              state.failure = (error as? Failure) ?? Failure(.storage, "the archive contradicts itself: \(error)")
            }
            stopSignal.set()
          }
        case .nothing(let moment): pause(until: moment)
        }
      }
    }

    /// Ends the reading.
    func end() {
      state.withLock { $0.isOver = true }
      state.broadcast()
    }

    func unsent(_ unsent: NotStored) { state.withLock { $0.unsent.note(unsent) } }

    func skipped(items: UInt64, bytes: UInt64) {}

    func workAdded() {
      state.withLock { $0.isNew = true }
      state.broadcast()
    }

    private func pause(until moment: Double?) {
      let soon = BootInstant.now().advanced(by: Self.interval)
      let deadline = moment.map { min(soon, BootInstant(seconds: $0)) } ?? soon
      _ = state.wait(until: deadline) { state -> Bool? in
        guard state.isNew || state.isOver else { return nil }
        state.isNew = false
        return true
      }
    }

    private func note(_ frame: FrameBuffer) {
      var reader = EntryReader(0..<frame.count)
      state.withLock { state in
        // This program wrote the entries itself, so they can be read.
        while let entry = try? reader.next(frame.bytes.span) {
          guard case .item(let record, _) = entry else { continue }
          tell(record)
          state.roots.note(record)
          state.encoded.note(record.path.bytes)
        }
      }
    }
  }
}
