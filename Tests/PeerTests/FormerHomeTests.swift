import Expectations
import TestSupport
import Testing

@testable import peer

@Suite struct FormerHomeTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    for name in ["disk/home/anna", "disk/home/ben", "disk/etc", "other/home/anna"] { scratch.makeDirectory(name) }
    scratch.write(
      "disk/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000:Anna,,,:/home/anna:/bin/sh\nben:/home/ben\n")
  }

  @Test func `a home on a disk was where the disk's list of users says`() {
    expect(EverythingOptions.FormerHome.path(of: scratch.at("disk/home/anna")), is: Array("/home/anna".utf8))
  }

  @Test(arguments: ["disk/home/ben", "disk/home", "other/home/anna"])
  func `what no list names as a home was nowhere`(path: String) {
    expect(EverythingOptions.FormerHome.path(of: scratch.at(path)) == nil)
  }

  @Test func `a list behind a link is not read`() {
    scratch.makeDirectory("linked/home/anna")
    scratch.makeLink("linked/etc", to: scratch.path("disk/etc"))
    expect(EverythingOptions.FormerHome.path(of: scratch.at("linked/home/anna")) == nil)
  }
}
