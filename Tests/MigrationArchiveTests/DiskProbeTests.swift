import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

@Suite struct DiskProbeTests {
  @Test func `in memory everything is possible`() throws {
    let scratch = try Scratch(inMemory: true)
    var abilities = DiskProbe.run(in: scratch.directory)
    // Attributes of the user's are newer than the rest there.
    abilities.keepsAttributes = true
    #expect(abilities == DiskAbilities())
    #expect(abilities.traits == DestinationTraits())
  }

  @Test func `nothing of a probe is left behind, nor of one that was killed`() throws {
    let scratch = try Scratch()
    scratch.makeDirectory("probe/inner")
    scratch.write("probe/fold", [1])
    scratch.write("beside", [1])
    let first = DiskProbe.run(in: scratch.directory)
    #expect(scratch.names() == ["beside"])
    #expect(DiskProbe.run(in: scratch.directory) == first)
  }

  @Test(.enabled(if: canMount, "no file system can be mounted"))
  func `what cannot be found out is taken as possible`() throws {
    let scratch = try Scratch.withFolders()
    let point = scratch.path("destination")
    try #require(mount("tmpfs", point, "tmpfs", 0, "size=64k,nr_inodes=2") == 0)
    defer { umount2(point, CInt(MNT_DETACH)) }
    scratch.makeDirectory("destination/place")
    let directory = try Directory.open(scratch.path("destination/place"))
    #expect(DiskProbe.run(in: directory) == DiskAbilities(), "there is no room for another entry")
    try #require(mount("tmpfs", point, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
    #expect(DiskProbe.run(in: directory) == DiskAbilities(), "nothing can be made")
  }

  @Test(.enabled(if: canMount, "no file system can be mounted"), arguments: [3, 4, 5, 6, 7] as [Int])
  func `a disk that is full in the middle of it lacks nothing`(entries: Int) throws {
    let scratch = try Scratch.withFolders()
    let point = scratch.path("destination")
    try #require(mount("tmpfs", point, "tmpfs", 0, "size=64k,nr_inodes=\(entries)") == 0)
    defer { umount2(point, CInt(MNT_DETACH)) }
    let directory = try Directory.open(point)
    var abilities = DiskProbe.run(in: directory)
    abilities.keepsAttributes = true
    #expect(abilities == DiskAbilities())
  }

  @Test(.enabled(if: MountedDisk.Kind.ext4.isHere, "no image can be mounted, or mkfs.ext4 is missing"))
  func `the bounds of ext4 with small blocks are found`() throws {
    let disk = try MountedDisk(.ext4, options: ["-b", "1024", "-I", "128"])
    let abilities = DiskProbe.run(in: disk.directory.directory)
    var expected = DiskAbilities()
    expected.longestTarget = 1023
    expected.largestFile = abilities.largestFile
    expected.timeGranularity = 1_000_000_000
    #expect(abilities == expected)
    let largest = try #require(abilities.largestFile)
    let file = try disk.directory.directory.createFile("large")
    try file.truncate(to: Int64(largest))
    #expect(throws: SystemError.self) { try file.truncate(to: Int64(largest) + 1) }
  }

  @Test(.enabled(if: MountedDisk.Kind.ntfs.isHere, "ntfs-3g is missing, or nothing can be mounted by it"))
  func `what ntfs-3g can hold is found`() throws {
    let disk = try MountedDisk(.ntfs)
    var expected = DiskAbilities()
    expected.renamesWithoutReplacing = false
    expected.exchangesNames = false
    expected.nameRules = .utf8Only
    expected.timeGranularity = 100
    expected.fixedRights = DiskAbilities.FixedRights(file: 0o777, directory: 0o777)
    #expect(DiskProbe.run(in: disk.directory.directory) == expected)
  }

  @Test(.enabled(if: MountedDisk.Kind.exfat.isHere, "exfat-fuse is missing, or nothing can be mounted by it"))
  func `what exfat-fuse can hold is found`() throws {
    let disk = try MountedDisk(.exfat)
    let abilities = DiskProbe.run(in: disk.directory.directory)
    var expected = DiskAbilities()
    expected.renamesWithoutReplacing = false
    expected.exchangesNames = false
    expected.makesHardLinks = false
    expected.keepsSymbolicLinks = false
    expected.nameRules = [.utf8Only, .noWindowsCharacters]
    expected.foldsCase = true
    expected.timeGranularity = 1_000_000_000
    expected.fixedRights = DiskAbilities.FixedRights(file: 0o777, directory: 0o777)
    expected.keepsAttributes = false
    expected.keepsHoles = false
    #expect(abilities == expected)
    #expect(abilities.traits.nameRules.contains(.foldsNames))
    var isEmpty = true
    try disk.directory.directory.forEachEntry { (_, _) throws(SystemError) in
      isEmpty = false
      return true
    }
    #expect(isEmpty)
  }

  @Test func `a staging directory is probed beside its tree, once`() throws {
    let scratch = try Scratch()
    let disk = try DirectoryDisk(making: Array("staging".utf8), in: scratch.open("."))
    #expect(disk.abilities == DiskProbe.run(in: scratch.directory))
    #expect(scratch.names("staging") == ["journal", "tree"] && scratch.names("staging/tree") == [])
    scratch.makeDirectory("staging/probe/left")
    let again = try DirectoryDisk(opening: Array("staging".utf8), in: scratch.open("."))
    #expect(again.abilities == disk.abilities)
    #expect(scratch.names("staging") == ["journal", "tree"])
  }
}
