import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct DiskProbeTests {
  @Test func `a file system in memory has every ability`() throws {
    let scratch = try Scratch()
    let abilities = DiskProbe.run(in: scratch.directory)
    expect(abilities, is: DiskAbilities())
    expect(abilities.traits, is: DestinationTraits())
  }

  @Test func `a probe leaves no files behind, even after an earlier probe was killed`() throws {
    let scratch = try Scratch()
    scratch.makeDirectory("probe/inner")
    scratch.write("probe/fold", [1])
    scratch.write("beside", [1])
    let first = DiskProbe.run(in: scratch.directory)
    expect(scratch.names(), is: ["beside"])
    expect(DiskProbe.run(in: scratch.directory), is: first)
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"))
  func `an ability that cannot be tested counts as present`() throws {
    let scratch = try Scratch.withFolders()
    let point = scratch.path("destination")
    try #require(mount("tmpfs", point, "tmpfs", 0, "size=64k,nr_inodes=2") == 0)
    defer { umount2(point, CInt(MNT_DETACH)) }
    scratch.makeDirectory("destination/place")
    let directory = try Directory.open(scratch.path("destination/place"))
    expect(DiskProbe.run(in: directory), is: DiskAbilities(), "there is no space for another entry")
    try #require(mount("tmpfs", point, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
    expect(DiskProbe.run(in: directory), is: DiskAbilities(), "no entry can be created")
  }

  @Test(.enabled(if: canMount, "no file system can be mounted here"), arguments: [3, 4, 5, 6, 7] as [Int])
  func `a disk that becomes full during the probe lacks no ability`(entries: Int) throws {
    let scratch = try Scratch.withFolders()
    let point = scratch.path("destination")
    try #require(mount("tmpfs", point, "tmpfs", 0, "size=64k,nr_inodes=\(entries)") == 0)
    defer { umount2(point, CInt(MNT_DETACH)) }
    let directory = try Directory.open(point)
    expect(DiskProbe.run(in: directory), is: DiskAbilities())
  }

  @Test(.enabled(if: MountedDisk.Kind.ext4.isHere, "no image can be mounted, or mkfs.ext4 is missing"))
  func `the probe finds the limits of ext4 with small blocks`() throws {
    let disk = try MountedDisk(.ext4, options: ["-b", "1024", "-I", "128"])
    let abilities = DiskProbe.run(in: disk.directory.directory)
    var expected = DiskAbilities()
    expected.largestFile = abilities.largestFile
    expected.timeGranularity = 1_000_000_000
    (expected.earliestTime, expected.latestTime) = (-1 << 31, 1 << 31 - 1)
    expect(abilities, is: expected)
    let largest = try #require(abilities.largestFile)
    let file = try disk.directory.directory.createFile("large")
    try file.truncate(to: Int64(largest))
    #expect(throws: SystemError.self) { try file.truncate(to: Int64(largest) + 1) }
  }

  @Test(.enabled(if: MountedDisk.Kind.ntfs.isHere, "ntfs-3g is missing, or nothing can be mounted by it"))
  func `the probe finds the abilities of ntfs-3g`() throws {
    let disk = try MountedDisk(.ntfs)
    var expected = DiskAbilities()
    expected.keepsNames = false
    expected.timeGranularity = 100
    expected.fixedRights = DiskAbilities.FixedRights(file: 0o777, directory: 0o777)
    expect(DiskProbe.run(in: disk.directory.directory), is: expected)
  }

  @Test(.enabled(if: MountedDisk.Kind.exfat.isHere, "exfat-fuse is missing, or nothing can be mounted by it"))
  func `the probe finds the abilities of exfat-fuse`() throws {
    let disk = try MountedDisk(.exfat)
    let abilities = DiskProbe.run(in: disk.directory.directory)
    var expected = DiskAbilities()
    expected.keepsNames = false
    expected.foldsCase = true
    expected.timeGranularity = 1_000_000_000
    expected.fixedRights = DiskAbilities.FixedRights(file: 0o777, directory: 0o777)
    expect(abilities, is: expected)
    expect(DiskProbe.refusal(of: Array("a:b".utf8), in: disk.directory.directory).reason, is: .nameNotAllowed)
    var isEmpty = true
    try disk.directory.directory.forEachEntry { (_, _) throws(SystemError) in
      isEmpty = false
      return true
    }
    expect(isEmpty)
  }

  @Test func `a staging directory that a kill has left while it was probed counts as new`() throws {
    let scratch = try Scratch()
    let name = Array("staging".utf8)
    _ = try DirectoryDisk(making: name, in: scratch.open("."))
    scratch.write("staging/probe/file", [UInt8](repeating: 0, count: 65_536))
    scratch.makeLink("staging/probe/link", to: "file")
    _ = try DirectoryDisk(making: name, in: scratch.open("."))
    expect(scratch.names("staging"), is: ["journal", "tree"])
    for left in ["one/probe/inner/file", "two/probe/long", "three/other"] {
      scratch.write(left, [UInt8](repeating: 1, count: 65_537))
      let name = Array(left.utf8.prefix { $0 != UInt8(ascii: "/") })
      #expect(throws: SystemError.self) { try DirectoryDisk(making: name, in: scratch.open(".")) }
      expect(scratch.exists(left))
    }
  }

  @Test func `a name is tried where the file system does not keep every one, and leaves nothing behind`() throws {
    let scratch = try Scratch()
    for (name, reason) in [
      (Array("a:b".utf8), nil), ([UInt8](repeating: 0x6E, count: 256), .nameTooLong),
      ([0x70, 0xED, 0xA0, 0x78], .nameNotAllowed),
    ] as [([UInt8], NotStored.Reason?)] {
      expect(DiskProbe.refusal(of: name, in: scratch.directory).reason, is: reason)
    }
    expect(scratch.names(), is: [])
  }

  @Test func `a staging directory is probed once, next to its tree`() throws {
    let scratch = try Scratch()
    let disk = try DirectoryDisk(making: Array("staging".utf8), in: scratch.open("."))
    expect(disk.abilities, is: DiskProbe.run(in: scratch.directory))
    expect(scratch.names("staging") == ["journal", "tree"] && scratch.names("staging/tree") == [])
    scratch.makeDirectory("staging/probe/left")
    _ = try Staging(on: disk, for: offer(), transfer: 0xABC, keys: testKeys)
    let again = try reopened(Array("staging".utf8), in: scratch.open("."))
    expect(again.abilities, is: disk.abilities)
    expect(scratch.names("staging"), is: ["journal", "tree"])
  }
}
