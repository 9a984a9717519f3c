import Expectations
import Testing

@testable import MigrationSystem

@Suite struct SystemDescriptionTests {
  @Test func `a mount's file system follows the dash, whatever optional fields are before it`() {
    let mounts = """
      21 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
      210 21 0:30 / /mnt/a\\040-\\040b rw - fuse.sshfs host:/home rw
      33 21 0:31 /home /home rw,noatime shared:7 master:2 propagate_from:3 - btrfs /dev/vda2 rw
      34 21 0:32 / /cut rw -
      """
    let cases = [("21", "ext4"), ("210", "fuse.sshfs"), ("33", "btrfs"), ("34", nil), ("2", nil)]
    for (number, name) in cases {
      expect(
        SystemDescription.mount(about: "pos:\t0\nflags:\t0100000\nmnt_id:\t\(number)\n", in: mounts)?.type, is: name)
    }
    expect(SystemDescription.mount(about: "pos:\t0\n", in: mounts) == nil)
  }

  @Test func `a value may have quotation marks`() {
    let lines = "NAME=\"Some System\"\nPRETTY_NAME='Some System 7'\nID=some\nEMPTY=\nMARK=\"\n"
    let found = ["NAME", "PRETTY_NAME", "ID", "EMPTY", "MARK", "NONE"].map {
      SystemDescription.value(of: $0, in: lines)
    }
    expect(found, is: ["Some System", "Some System 7", "some", "", "\"", nil])
  }

  @Test func `a directory that is not made yet is on the file system of the one above it`() throws {
    let folder = try #require(SystemDescription.fileSystem(of: Array("/proc/self/fdinfo".utf8)))
    expect(folder, is: "proc")
    expect(SystemDescription.fileSystem(of: Array("/proc/none/below".utf8)), is: "proc")
  }
}
