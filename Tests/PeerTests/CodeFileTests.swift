import Expectations
import Glibc
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport
import Testing

@testable import peer

/// A code in a file, which is treated as a secret.
@Suite struct CodeFileTests {
  private let scratch: Scratch
  private let code = PairingCode(number: 4_829_136)

  init() throws { scratch = try Scratch() }

  private func outcome(_ path: [UInt8], owner: UInt32 = CurrentProcess.effectiveUserID) -> Result<
    PairingCode, Failure
  > {
    do throws(Failure) {
      return .success(try CodeFile.read(path, owner: owner))
    } catch {
      return .failure(error)
    }
  }

  private func file(_ text: String, mode: mode_t = 0o600) throws -> [UInt8] {
    let file = try scratch.directory.createFile(Array("code".utf8))
    try file.write(at: 0, Array(text.utf8).span)
    try #require(chmod(scratch.path("code"), mode) == 0)
    return scratch.at("code")
  }

  @Test(arguments: ["4829-1367\n", "48291367", "4829 1367\r\nand more\n"]) func `the first line is the code`(
    text: String
  ) throws {
    expect(try outcome(file(text)).get(), is: code)
  }

  @Test func `a new code file is readable only by its owner, and is not created twice`() throws {
    let path = scratch.at("code")
    try CodeFile.make(path, code)
    expect(try outcome(path).get(), is: code)
    expect(try Descriptor.open(path).status().mode, is: 0o600)
    let again = #expect(throws: Failure.self) { try CodeFile.make(path, code) }
    expect(again?.message.hasSuffix("exists already, and is not changed"), is: true)
  }

  @Test(arguments: [0o640, 0o604, 0o620, 0o666, 0o601] as [mode_t])
  func `a file that other users can access is refused`(
    mode: mode_t
  ) throws {
    guard case .failure(let failure) = try outcome(file("4829-1367", mode: mode)) else { return expect(Bool(false)) }
    expect(failure.kind == .usage && failure.message.hasPrefix("other users can access"))
    expect(failure.hint?.contains("chmod 600"), is: true)
  }

  @Test func `the hint for a file without a code tells how to create one`() throws {
    guard case .failure(let failure) = try outcome(file("4829-1376")) else { return expect(Bool(false)) }
    expect(failure.kind == .pairing && failure.hint == "Create one with 'peer code new --code-file FILE'.")
  }

  @Test func `a missing file is an invalid command line at both ends`() throws {
    guard case .failure(let failure) = outcome(scratch.at("none")) else { return expect(Bool(false)) }
    expect(failure.kind == .usage && failure.message.hasSuffix("cannot be read: No such file or directory"))
    let path = scratch.at("none")
    let sending = #expect(throws: Failure.self) {
      try CodeEntry.read(
        .file(path), of: DeviceAddress(name: nil, host: "192.0.2.7", port: 1), Output(.sender, json: false))
    }
    expect(sending, is: failure)
  }

  @Test func `another user's file is refused`() throws {
    guard case .failure(let failure) = try outcome(file("4829-1367"), owner: 4711) else { return expect(Bool(false)) }
    expect(failure.kind == .usage && failure.message.hasSuffix("belongs to another user"))
  }

  @Test func `a link, a directory and a pipe are refused without a wait`() throws {
    _ = try file("4829-1367")
    try #require(symlink("code", scratch.path("link")) == 0)
    try #require(mkfifo(scratch.path("pipe"), 0o600) == 0)
    for (name, what) in [("link", "is a link"), ("pipe", "is not a regular file"), ("", "is not a regular file")] {
      guard case .failure(let failure) = outcome(scratch.at(name)) else { return expect(Bool(false), "\(name)") }
      expect(failure.kind == .usage && failure.message.contains(what), "\(failure)")
    }
  }

  @Test(arguments: [
    ("4829-1368", "one digit is wrong"), ("", "not a code of eight digits"), ("\n4829-1367", "not a code"),
  ])
  func `an invalid code costs no try`(text: String, what: String) throws {
    guard case .failure(let failure) = try outcome(file(text)) else { return expect(Bool(false)) }
    expect(failure.kind == .pairing && failure.message.contains(what), "\(failure)")
  }
}
