import Glibc
import MigrationSystem
import TestSupport

/// A file system in an image of its own, mounted as long as this object exists.
final class MountedDisk {
  enum Kind: String {
    case ext4
    case ntfs
    case exfat

    fileprivate var programs: [String] {
      switch self {
      case .ext4: ["/usr/sbin/mkfs.ext4", "/usr/bin/mount"]
      case .ntfs: ["/usr/sbin/mkfs.ntfs", "/usr/bin/ntfs-3g"]
      case .exfat: ["/usr/sbin/mkfs.exfat", "/usr/sbin/mount.exfat-fuse", "/usr/sbin/losetup"]
      }
    }

    private var device: String { self == .ntfs ? "/dev/fuse" : "/dev/loop-control" }

    /// Whether it can be created and mounted here.
    var isHere: Bool {
      canMount && access(device, W_OK) == 0 && programs.allSatisfy { access($0, X_OK) == 0 }
    }
  }

  struct Failed: Error {
    let words: [String]
    let code: CInt
  }

  /// Its top directory.
  let directory: SharedDirectory
  private let scratch: Scratch
  private let point: String
  private var loop: String?

  /// Creates a file system with the usual options, and these.
  init(_ kind: Kind, options: [String] = []) throws {
    scratch = try Scratch()
    scratch.write("image", [])
    scratch.cut("image", to: 48 << 20)
    scratch.makeDirectory("point")
    point = scratch.path("point")
    let image = scratch.path("image")
    let (make, mount) = (kind.programs[0], kind.programs[1])
    let force = kind == .exfat ? [] : ["-q", "-F"]
    try Self.run([make] + force + options + [image])
    switch kind {
    case .ext4: try Self.run([mount, "-o", "loop", image, point])
    case .ntfs: try Self.run([mount, image, point])
    case .exfat:
      let output = try Self.run([kind.programs[2], "--find", "--show", image])
      let device = String(decoding: output.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
      loop = device
      try Self.run([mount, device, point])
    }
    directory = SharedDirectory(try Directory.open(point))
  }

  /// Its path.
  var path: String { point }

  deinit {
    umount2(point, CInt(MNT_DETACH))
    if let loop { _ = try? Self.run(["/usr/sbin/losetup", "--detach", loop]) }
  }

  @discardableResult
  private static func run(_ words: [String]) throws -> [UInt8] {
    let (code, output) = try TestSupport.run(words[0], words, environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"])
    guard code == 0 else { throw Failed(words: words, code: code) }
    return output
  }
}
