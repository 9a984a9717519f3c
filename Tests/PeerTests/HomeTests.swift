import Expectations
import Foundation
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire
import TestSupport
import Testing

@testable import peer

@Suite struct HomeTests {
  private let scratch: Scratch
  private let own = CurrentProcess.effectiveUserID

  init() throws { scratch = try Scratch() }

  private func failure(_ path: [UInt8], owner: UInt32? = nil) -> Failure? {
    do throws(Failure) {
      try TransferStore.check(path, owner: owner ?? own, hint: "")
      return nil
    } catch {
      return error
    }
  }

  private func make(_ mode: mode_t) throws -> [UInt8] {
    let name = "home-\(String(mode, radix: 8))"
    try scratch.directory.makeDirectory(name)
    try #require(chmod(scratch.path(name), mode) == 0)
    return scratch.at(name)
  }

  @Test(arguments: [0o700, 0o755, 0o750, 0o500] as [mode_t])
  func `a directory that only its owner may change is accepted`(mode: mode_t) throws {
    expect(failure(try make(mode)) == nil)
  }

  @Test(arguments: [0o720, 0o702, 0o775, 0o777, 0o1777] as [mode_t])
  func `a directory that other users may change is refused with a hint`(mode: mode_t) throws {
    let path = try make(mode)
    if mode & 0o002 == 0 {
      // Only root may give it to a group with other members.
      guard own == 0 else { return }
      try #require(chown(String(decoding: path, as: UTF8.self), 0, 65_534) == 0)
    }
    let failure = failure(path)
    expect(failure?.kind, is: .refused)
    expect(failure?.message.contains(String(decoding: path, as: UTF8.self)), is: true)
    expect(failure?.hint?.contains("chmod 700 "), is: true)
  }

  @Test func `a directory that cannot be judged is refused, and a missing one is not`() throws {
    expect(failure(scratch.at("missing/below")) == nil)
    let long = String(repeating: "x", count: 300)
    expect(failure(scratch.at("\(long)/below"))?.message.contains("cannot be read: "), is: true)
  }

  @Test func `a directory of another user is refused, except root's`() throws {
    let path = try make(0o700)
    if own == 0 {
      expect(failure(path, owner: 12345) == nil)
      try #require(chown(scratch.path("home-700"), 12345, 12345) == 0)
      expect(failure(path, owner: 54321)?.kind, is: .refused)
    } else {
      expect(failure(path, owner: own + 1)?.kind, is: .refused)
    }
  }

  @Test func `a directory is refused that every user can replace, at any depth and through a link`() throws {
    let open = try make(0o777)
    try scratch.directory.makeSymbolicLink("link", target: open)
    for name in ["below", "below/own"] { try #require(mkdir(scratch.path("home-777/\(name)"), 0o700) == 0) }
    for path in ["home-777/below", "home-777/below/own", "home-777/missing", "link/below/missing"] {
      let failure = failure(scratch.at(path))
      expect(failure?.hint?.hasPrefix("Remove that right: chmod o-w /"), is: true, "\(path)")
    }
    try #require(chmod(scratch.path("home-777"), 0o1777) == 0)
    expect(failure(scratch.at("home-777/below")) == nil)
  }

  @Test func `the program keeps nothing where another user could exchange it, and says why`() throws {
    // Only root can make folders of others.
    guard own == 0 else { return }
    for (name, owner, group, mode) in [("theirs", 65_534, 65_534, 0o755), ("teams", 0, 65_534, 0o775)] {
      scratch.makeDirectory("\(name)/mine")
      try #require(chown(scratch.path(name), uid_t(owner), gid_t(group)) == 0)
      try #require(chmod(scratch.path(name), mode_t(mode)) == 0)
    }
    for (environment, reason, hint) in [
      ("PEER_HOME=\(scratch.path("theirs/mine"))", "theirs' belongs to another user", "Set PEER_HOME to"),
      ("PEER_HOME=\(scratch.path("theirs/new"))", "theirs' belongs to another user", "Set PEER_HOME to"),
      ("PEER_HOME=\(scratch.path("teams/mine"))", "teams' can be changed by a group", "chmod g-w "),
      ("HOME=\(scratch.path("theirs"))", "theirs' belongs to another user", "Set HOME to your own home"),
    ] {
      let (code, output) = try run(
        try builtProgram("peer"), ["peer", "receive", scratch.path("theirs/mine"), "--json"], environment: [environment]
      )
      expect(code, is: 4)
      let text = String(decoding: output, as: UTF8.self)
      expect(text.contains(reason) && text.contains(hint), "\(environment): \(text)")
    }
    expect(scratch.names("theirs") == ["mine"] && scratch.names("theirs/mine").isEmpty)
    expect(scratch.names("teams/mine").isEmpty)
  }

  @Test func `a link counts as its target, and a missing directory is accepted`() throws {
    let path = try make(0o700)
    try scratch.directory.makeSymbolicLink("link", target: path)
    expect(failure(scratch.at("link")) == nil)
    try scratch.directory.makeSymbolicLink("other", target: try make(0o777))
    expect(failure(scratch.at("other"))?.kind, is: .refused)
    expect(failure(scratch.at("missing")) == nil)
  }

  @Test func `the directory is chosen by the variables in turn, then by the password file`() throws {
    let variables = ["PEER_HOME": "/p", "XDG_DATA_HOME": "/x", "HOME": "/h"].mapValues { Array($0.utf8) }
    let chosen = { (names: [String], home: String?) in
      try Home.chosen(by: { names.contains($0) ? variables[$0] : nil }, else: home.map { Array($0.utf8) })
    }
    expect(try chosen(["PEER_HOME", "XDG_DATA_HOME", "HOME"], "/a"), is: Array("/p".utf8))
    expect(try chosen(["XDG_DATA_HOME", "HOME"], "/a"), is: Array("/x/peer".utf8))
    expect(try chosen(["HOME"], "/a"), is: Array("/h/.local/share/peer".utf8))
    expect(try chosen([], "/a"), is: Array("/a/.local/share/peer".utf8))
    expect(#expect(throws: Failure.self) { try chosen([], nil) }?.kind, is: .refused)
  }

  @Test(arguments: [["receive", "."], ["send", "/etc", "--to", "127.0.0.1:1"]])
  func `a directory that cannot be written is refused before the transfer, and the hint ends in a command`(
    words: [String]
  ) throws {
    scratch.write("file", [])
    let (code, output) = try run(
      try builtProgram("peer"), ["peer"] + words + ["--json"],
      environment: ["PEER_HOME=" + scratch.path("file/below")])
    expect(code, is: 4)
    let text = String(decoding: output, as: UTF8.self)
    expect(text.contains("without which none resumes: Not a directory"))
    expect(text.contains("start again: export PEER_HOME=~/.peer-state\""))
  }

  @Test(arguments: [
    ["receive", "."], ["send", "/etc", "--to", "127.0.0.1:1", "--code-file", "/dev/null"], ["resume", "list"],
    ["forget", "0000"], ["receive", "--app", "org.example.notes"],
    ["send", "--app", "org.example.notes", "--to", "127.0.0.1:1", "--code-file", "/dev/null"],
    ["app", "list"], ["app", "install", "."], ["app", "run", "org.example.notes"],
    ["app", "status", "org.example.notes"],
    ["app", "remove", "org.example.notes"],
  ])
  func `every command refuses a directory that other users may change`(words: [String]) throws {
    _ = try make(0o777)
    let (code, _) = try run(
      try builtProgram("peer"), ["peer"] + words, environment: ["PEER_HOME=" + scratch.path("home-777")])
    expect(code, is: 4)
    expect(scratch.names("home-777").isEmpty)
  }
}
