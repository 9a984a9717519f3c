import Glibc

/// Looks into this process's memory, for secrets that should be gone.
package enum OwnMemory {
  /// How often a secret lies in memory that the process can write to. The caller keeps only the
  /// secret's complement, so that its own copy is not found.
  package static func count(ofComplementOf complement: [UInt8]) throws -> Int {
    let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw Unreadable() }
    defer { close(memory) }
    var room = [UInt8](repeating: 0, count: 1 << 20)
    // Copies of the secret in here would be found by the next search.
    defer { room.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
    let own = room.withUnsafeBytes { Int(bitPattern: $0.baseAddress!)..<Int(bitPattern: $0.baseAddress! + $0.count) }
    var found = 0
    for area in try writable().flatMap({ parts(of: $0, without: own) }) {
      var start = area.lowerBound
      while start < area.upperBound {
        let wanted = min(room.count, area.upperBound - start)
        let got = room.withUnsafeMutableBytes { pread(memory, $0.baseAddress, wanted, start) }
        guard got > complement.count else { break }
        found += room.withUnsafeBytes { count(of: complement, in: $0.prefix(got)) }
        // The pieces overlap by less than a secret, so that none is counted twice.
        start += start + got < area.upperBound ? got - (complement.count - 1) : got
      }
    }
    return found
  }

  package struct Unreadable: Error {}

  /// The parts of an area before and after another.
  private static func parts(of area: Range<Int>, without other: Range<Int>) -> [Range<Int>] {
    guard area.overlaps(other) else { return [area] }
    return [
      area.lowerBound..<max(area.lowerBound, other.lowerBound),
      min(area.upperBound, other.upperBound)..<area.upperBound,
    ]
    .filter { !$0.isEmpty }
  }

  private static func count(of complement: [UInt8], in bytes: Slice<UnsafeRawBufferPointer>) -> Int {
    var (found, start) = (0, bytes.startIndex)
    let base = bytes.base.baseAddress!
    while start + complement.count <= bytes.endIndex,
      let hit = memchr(base + start, Int32(~complement[0]), bytes.endIndex - complement.count + 1 - start)
    {
      start = UnsafeRawPointer(hit) - base
      if complement.indices.allSatisfy({ bytes.base[start + $0] == ~complement[$0] }) { found += 1 }
      start += 1
    }
    return found
  }

  private static func writable() throws -> [Range<Int>] {
    guard let maps = fopen("/proc/self/maps", "re") else { throw Unreadable() }
    defer { fclose(maps) }
    var areas: [Range<Int>] = []
    var line: UnsafeMutablePointer<CChar>?
    var size = 0
    defer { free(line) }
    while getline(&line, &size, maps) > 0, let line {
      let words = String(cString: line).split(separator: " ", maxSplits: 2)
      let bounds = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
      if words[1].hasPrefix("rw"), bounds.count == 2 { areas.append(bounds[0]..<bounds[1]) }
    }
    return areas
  }
}
