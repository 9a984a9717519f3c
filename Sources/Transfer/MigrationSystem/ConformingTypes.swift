import Glibc

/// Finds types in the compiler's records of conformances to protocols.
package enum ConformingTypes {
  /// All types in this process that conform to a protocol of a module, except generic types. A type
  /// may come more than once.
  package static func all(of name: String, in module: String) -> [any Any.Type] {
    ConformanceSection.all().flatMap(\.records)
      .filter { $0.isConformance(to: name, of: module) }
      .compactMap(\.type)
  }

  /// The conformances of one image: an array of relative pointers to their records.
  @safe private struct ConformanceSection {
    /// The runtime's record of an image: a version, an address, two unused words, then the start and
    /// the length of each section. The second section has the conformances.
    private static let offset = 6 * MemoryLayout<UInt>.size

    private typealias Body = @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer) -> Bool
    private typealias Enumerate = @convention(c) (Body, UnsafeMutableRawPointer) -> Void

    private let start: UnsafeRawPointer?
    private let size: Int

    private init(of image: UnsafeRawPointer) {
      unsafe start = image.load(fromByteOffset: Self.offset, as: UnsafeRawPointer?.self)
      size = unsafe image.load(fromByteOffset: Self.offset + MemoryLayout<UInt>.size, as: Int.self)
    }

    /// The conformances of all loaded images.
    static func all() -> [ConformanceSection] {
      guard let symbol = unsafe dlsym(nil, "swift_enumerateAllMetadataSections") else { return [] }
      let enumerate = unsafe unsafeBitCast(symbol, to: Enumerate.self)
      var sections: [ConformanceSection] = []
      unsafe withUnsafeMutablePointer(to: &sections) { pointer in
        unsafe enumerate(
          { image, context in
            unsafe context.assumingMemoryBound(to: [ConformanceSection].self).pointee.append(
              ConformanceSection(of: image))
            return true
          }, pointer)
      }
      return sections
    }

    var records: [ConformanceRecord] {
      guard let start = unsafe start else { return [] }
      return stride(from: 0, to: size, by: MemoryLayout<Int32>.size).map { offset in
        unsafe ConformanceRecord((start + offset).relativeTarget)
      }
    }
  }

  /// One conformance: relative pointers to the protocol, to the type and to a table, then flags.
  @safe private struct ConformanceRecord {
    private let address: UnsafeRawPointer

    init(_ address: UnsafeRawPointer) { unsafe self.address = address }

    /// Whether the protocol has this name, in this module.
    func isConformance(to name: String, of module: String) -> Bool {
      let descriptor = unsafe ContextDescriptor(address.indirectableTarget)
      return descriptor.name == name && descriptor.parent?.name == module
    }

    /// The type; nil for a generic type.
    var type: (any Any.Type)? {
      let flags = unsafe address.load(fromByteOffset: 12, as: UInt32.self)
      let reference = unsafe (address + 4).relativeTarget
      // Bits 3 to 5 are the kind of the reference.
      switch flags >> 3 & 7 {
      case 0: return unsafe ContextDescriptor(reference).type
      case 1: return unsafe ContextDescriptor(reference.load(as: UnsafeRawPointer.self)).type
      default: return nil
      }
    }
  }

  /// The compiler's record of a module, a protocol or a type: flags, then relative pointers to the
  /// parent, to the name and, for types, to the function that returns their metadata.
  @safe private struct ContextDescriptor {
    private static let moduleKind: UInt32 = 0
    private static let protocolKind: UInt32 = 3
    private static let typeKinds: ClosedRange<UInt32> = 16...18

    private typealias MetadataAccess = @convention(c) (Int) -> UnsafeRawPointer

    private let address: UnsafeRawPointer

    init(_ address: UnsafeRawPointer) { unsafe self.address = address }

    private var flags: UInt32 { unsafe address.load(as: UInt32.self) }
    private var kind: UInt32 { flags & 0x1F }
    private var isGeneric: Bool { flags & 0x80 != 0 }

    var parent: ContextDescriptor? {
      guard unsafe (address + 4).load(as: Int32.self) != 0 else { return nil }
      return unsafe ContextDescriptor((address + 4).indirectableTarget)
    }

    /// The name of a module or a protocol.
    var name: String? {
      guard kind == Self.protocolKind || kind == Self.moduleKind else { return nil }
      return unsafe String(cString: (address + 8).relativeTarget.assumingMemoryBound(to: CChar.self))
    }

    var type: (any Any.Type)? {
      guard Self.typeKinds.contains(kind), !isGeneric else { return nil }
      let access = unsafe unsafeBitCast((address + 12).relativeTarget, to: MetadataAccess.self)
      // Zero requests complete metadata.
      return unsafe unsafeBitCast(access(0), to: Any.Type.self)
    }
  }
}

/// Pointers that are stored as their distance from their own address.
extension UnsafeRawPointer {
  fileprivate var relativeTarget: UnsafeRawPointer {
    unsafe self + Int(loadUnaligned(as: Int32.self))
  }

  /// The same, except that the lowest bit marks a pointer to a pointer to the target.
  fileprivate var indirectableTarget: UnsafeRawPointer {
    let distance = unsafe loadUnaligned(as: Int32.self)
    let target = unsafe self + Int(distance & ~1)
    return unsafe distance & 1 == 0 ? target : target.load(as: UnsafeRawPointer.self)
  }
}
