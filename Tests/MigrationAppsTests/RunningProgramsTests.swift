import Expectations
import Glibc
import MigrationSystem
import TestSupport
import Testing

@testable import MigrationApps

@Suite struct RunningProgramsTests {
  private let scratch: Scratch
  private let programs = RunningPrograms(of: CurrentProcess.effectiveUserID)

  init() throws { scratch = try Scratch() }

  @Test func `a running program of this user is found by its name`() throws {
    let comm = try Descriptor.openThroughLinks(Array("/proc/self/comm".utf8)).readToEnd(limit: 64)
    let name = String(decoding: comm.dropLast(), as: UTF8.self)
    expect(programs.first(of: ["no such program", name])?.hasPrefix("\(name), process "), is: true)
    expect(programs.first(of: ["no such program"]) == nil)
    expect(RunningPrograms(of: 4_000_000_000).first(of: [name]) == nil)
  }

  private func holder(_ locks: String..., of programs: RunningPrograms? = nil) -> String? {
    (programs ?? self.programs).holder(of: locks.compactMap { PathPattern($0) }, in: scratch.directory)
  }

  @Test func `a link that ends in the number of a process of this user is its lock`() throws {
    expect(holder("lock", "*/lock") == nil)
    scratch.makeDirectory("profile")
    scratch.makeLink("profile/lock", to: "127.0.1.1:+\(CurrentProcess.id)")
    expect(holder("lock", "*/lock")?.hasSuffix("process \(CurrentProcess.id)"), is: true)
    expect(holder("lock", "*/*/lock", "profile/other") == nil)
    expect(holder("*/lock", of: RunningPrograms()) == nil)
    expect(holder("*/lock", of: RunningPrograms(of: 4_000_000_000)) == nil)
    scratch.makeLink("SingletonLock", to: "old-computer-99999999")
    expect(holder("SingletonLock") == nil)
    scratch.makeLink("other", to: "no number")
    expect(holder("other") == nil)
  }

  @Test func `a process that began after the link was made has the number of another one`() throws {
    let process = try SpawnedProcess("/bin/sleep", ["sleep", "100"])
    scratch.makeLink("lock", to: "host-\(process.id)")
    expect(holder("lock"), is: "sleep, process \(process.id)")
    expect(RunningPrograms.mayHaveMade(linkOfAge: 10, processOfAge: 11))
    expect(!RunningPrograms.mayHaveMade(linkOfAge: 10_000, processOfAge: 11))
  }

  @Test func `a process that has ended does not run, although its parent has not looked`() throws {
    let process = try SpawnedProcess("/bin/sleep", ["sleep", "0.01"])
    scratch.makeLink("lock", to: "host-\(process.id)")
    let deadline = BootInstant.now().advanced(by: .seconds(20))
    while holder("lock") != nil, BootInstant.now() < deadline { usleep(10_000) }
    expect(holder("lock") == nil)
    expect(FileContent.isDirectory(Array("/proc/\(process.id)".utf8)))
    _ = try process.exitCode()
  }
}
