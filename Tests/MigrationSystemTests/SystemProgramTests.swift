import Expectations
import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct SystemProgramTests {
  private func status(owner: UInt32 = 0, mode: UInt32 = 0o755) -> FileStatus {
    FileStatus(
      kind: .directory, mode: mode, size: 0, allocatedBytes: 0, device: 1, inode: 2, owner: owner,
      modified: Timestamp(seconds: 0), changed: Timestamp(seconds: 0))
  }

  @Test func `a program of the system has an absolute path without links, and runs with its own environment`() throws {
    let shell = try #require(SystemProgram("sh"))
    expect(shell.path.starts(with: Array("/usr/bin/".utf8)) && shell.path != Array("/usr/bin/sh".utf8))
    let scratch = try Scratch()
    scratch.write("input", "read\n")
    let output = try shell.run(
      ["-c", "read word && echo $word $HOME $PATH $PWD"], environment: ["HOME": "/there"],
      input: scratch.directory.openChild("input"), limit: 100, patience: .seconds(patience))
    expect(String(decoding: output, as: UTF8.self).hasPrefix("read /there /usr/bin:"))
    expect(String(decoding: output, as: UTF8.self).hasSuffix(" /\n"))
  }

  @Test func `a program that fails, writes too much or does not end is an error`() throws {
    let shell = try #require(SystemProgram("sh"))
    func words(_ script: String, patience: Duration = .seconds(60)) -> String? {
      thrown { () throws(SystemError) in
        _ = try shell.run(["-c", script], environment: [:], limit: 10, patience: patience)
      }?.words
    }
    expect(words("exit 3"), is: "it has failed")
    expect(words("kill -9 $$"), is: "it has failed")
    expect(words("echo 0123456789"), is: "it is too long")
    expect(words("exec sleep 600", patience: .milliseconds(100)), is: "it takes too long")
    // Its end of the pipe is closed, and it goes on.
    expect(words("exec >&-; exec sleep 600", patience: .milliseconds(100)), is: "it has failed")
    expect(words("echo ok") == nil)
  }

  @Test func `a program in a folder that others may write to, or of another user, is none of the system's`() throws {
    let scratch = try Scratch()
    try scratch.directory.makeDirectory("bin", mode: 0o755)
    scratch.write("bin/tool", "#!/bin/sh\n")
    try scratch.directory.openChildDirectory("bin").setMode("tool", 0o755)
    try scratch.directory.makeDirectory("links", mode: 0o755)
    scratch.makeLink("links/sh", to: "/bin/sh")
    scratch.makeLink("links/tool", to: "../bin/tool")
    // Its own folder does not matter to a link to a program of the system.
    expect(SystemProgram("sh", in: [scratch.path("links")]), is: SystemProgram("sh"))
    for folder in ["bin", "links"] {
      let found = SystemProgram("tool", in: [scratch.path(folder)])
      // A scratch folder of root is root's alone.
      expect((found == nil) != isRoot, "\(folder)")
      guard isRoot else { continue }
      for (path, mode) in [
        ("bin/tool", 0o775), ("bin/tool", 0o757), ("bin/tool", 0o644), ("bin", 0o775), ("bin", 0o1777),
      ] {
        chmod(scratch.path(path), mode_t(mode))
        expect(SystemProgram("tool", in: [scratch.path(folder)]) == nil, "\(path) \(mode)")
        chmod(scratch.path(path), 0o755)
      }
      for path in ["bin/tool", "bin", ""] {
        chown(scratch.path(path), 65534, 0)
        expect(SystemProgram("tool", in: [scratch.path(folder)]) == nil, "\(path)")
        chown(scratch.path(path), 0, 0)
      }
      chmod(scratch.path, 0o777)
      expect(SystemProgram("tool", in: [scratch.path(folder)]) == nil)
      chmod(scratch.path, 0o700)
    }
    expect(SystemProgram("bin", in: [scratch.path]) == nil)
    expect(SystemProgram("missing") == nil)
  }

  @Test func `a folder above may let others add names`() {
    expect(SystemProgram.isRoots(status()) && SystemProgram.isRoots(status(mode: 0o700)))
    expect(
      !SystemProgram.isRoots(status(owner: 1)) && !SystemProgram.isRoots(status(owner: 1, mode: 0o1755), isAbove: true))
    for mode in [0o775, 0o757] as [UInt32] {
      expect(!SystemProgram.isRoots(status(mode: mode)) && !SystemProgram.isRoots(status(mode: mode), isAbove: true))
      expect(!SystemProgram.isRoots(status(mode: mode | 0o1000)))
      expect(SystemProgram.isRoots(status(mode: mode | 0o1000), isAbove: true))
    }
  }
}
