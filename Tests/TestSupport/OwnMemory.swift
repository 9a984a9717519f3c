import Glibc

/// Looks into this process's memory, for secrets that should be gone.
package enum OwnMemory {
  /// How often a secret lies in memory that the process can write to. The caller keeps only the
  /// secret's complement, so that its own copy is not found.
  package static func count(ofComplementOf complement: [UInt8]) throws -> Int {
    let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { throw Unreadable() }
    defer { close(memory) }
    // The secret itself lies at the end of the room, which is not searched.
    let size = 1 << 20
    var room = [UInt8](repeating: 0, count: size + complement.count)
    for (index, byte) in complement.enumerated() { room[size + index] = ~byte }
    // Copies of the secret in here would be found by the next search.
    defer { room.withUnsafeMutableBytes { explicit_bzero($0.baseAddress!, $0.count) } }
    let own = room.withUnsafeBytes { Int(bitPattern: $0.baseAddress!)..<Int(bitPattern: $0.baseAddress! + $0.count) }
    var found = 0
    for area in try writable().flatMap({ parts(of: $0, without: own) }) {
      var start = area.lowerBound
      while start < area.upperBound {
        let wanted = min(size, area.upperBound - start)
        let got = room.withUnsafeMutableBytes { pread(memory, $0.baseAddress, wanted, start) }
        guard got > complement.count else { break }
        found += room.withUnsafeBytes { count(of: UnsafeRawBufferPointer(rebasing: $0[size...]), in: $0.prefix(got)) }
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

  private static func count(of secret: UnsafeRawBufferPointer, in bytes: Slice<UnsafeRawBufferPointer>) -> Int {
    // Memory is full of zeros, and of letters.
    let rare = secret.firstIndex { (0x80...0xFE).contains($0) } ?? 0
    var (found, start) = (0, bytes.base.baseAddress! + rare)
    let end = start + bytes.count - secret.count + 1
    while start < end, let hit = memchr(start, Int32(secret[rare]), end - start) {
      if memcmp(hit - rare, secret.baseAddress!, secret.count) == 0 { found += 1 }
      start = UnsafeRawPointer(hit) + 1
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
