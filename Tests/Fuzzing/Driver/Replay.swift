import Glibc

#if !LIBFUZZER
  extension FuzzTarget {
    /// Reads inputs, each for the target that its folder names, and so many others that are made of
    /// each, always the same. Each is first written to a file, which has the input that broke a promise.
    ///
    /// Usage: PROGRAM COUNT FILE INPUT...
    package static func main(_ targets: [FuzzTarget]) {
      let words = CommandLine.arguments
      guard words.count > 3, let count = Int(words[1]) else { exit(2) }
      let last = open(words[2], O_WRONLY | O_CREAT, 0o600)
      for target in targets {
        var (cost, made) = (InputCost(), 0)
        var chance = Chance(state: target.name.utf8.reduce(1) { $0 &* 31 &+ UInt64($1) })
        let firsts = words[3...].filter { $0.split(separator: "/").dropLast().last == target.name[...] }.map(content)
        print("\(target.name) reads")
        fflush(nil)
        for first in firsts {
          keep(first, in: last)
          cost.run(target, first[...])
          for _ in 0..<count {
            let input = chance.changed(first, firsts[chance.number(below: firsts.count)]).prefix(target.longest)
            keep(Array(input), in: last)
            cost.run(target, input)
            made += 1
          }
        }
        print("\(target.name) | ok | \(firsts.count) inputs, \(made) made of them; \(cost.line)")
      }
    }

    private static func content(_ path: String) -> [UInt8] {
      let file = open(path, O_RDONLY)
      defer { close(file) }
      let size = Int(lseek(file, 0, SEEK_END))
      return [UInt8](unsafeUninitializedCapacity: size) { $1 = max(0, pread(file, $0.baseAddress, size, 0)) }
    }

    private static func keep(_ bytes: [UInt8], in file: CInt) {
      _ = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
      ftruncate(file, bytes.count)
    }
  }

  /// Random numbers that follow from a first one, and what they make of an input.
  private struct Chance {
    var state: UInt64

    mutating func number(below bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }

    /// An input with up to four changes; some take bytes of another one.
    mutating func changed(_ input: [UInt8], _ other: [UInt8]) -> ArraySlice<UInt8> {
      var bytes = input
      for _ in 0...number(below: 4) {
        let place = number(below: bytes.count + 1)
        let rest = bytes.count - place
        switch number(below: 6) {
        case 0 where rest > 0: bytes[place] ^= 1 << UInt8(number(below: 8))
        case 1 where rest > 0: bytes[place] = [0, 1, 0x3F, 0x40, 0x7F, 0x80, 0xC0, 0xFF][number(below: 8)]
        case 2 where rest > 0: bytes.removeSubrange(place..<place + 1 + number(below: min(rest, 16)))
        case 3: bytes.insert(contentsOf: (0...number(below: 8)).map { _ in UInt8(number(below: 256)) }, at: place)
        case 4: bytes.insert(contentsOf: other.dropFirst(number(below: other.count + 1)).prefix(64), at: place)
        default: bytes.removeLast(number(below: rest + 1))
        }
      }
      return bytes[...]
    }
  }
#endif
