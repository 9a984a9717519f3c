import Expectations
import Glibc
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

@Suite struct AppLockTests {
  private let scratch: Scratch
  private let app: InstalledApp

  init() throws {
    scratch = try Scratch()
    app = try scratch.install()
  }

  @Test(arguments: AppLock.Use.allCases, AppLock.Use.allCases)
  func `only running is compatible with running`(one: AppLock.Use, other: AppLock.Use) throws {
    let held = try app.lock(one)
    if one == .running && other == .running {
      _ = try app.lock(other)
    } else {
      let error = #expect(throws: Failure.self) { try app.lock(other) }
      expect(error?.code, is: .appInUse)
    }
    withExtendedLifetime(held) {}
  }

  @Test(
    arguments: [
      (.running, "the app org.example.notes is running"),
      (.migrating, "the data of org.example.notes is being migrated"),
      (.installing, "the app org.example.notes is being installed"),
      (.removing, "the app org.example.notes is being removed"),
    ] as [(AppLock.Use, String)])
  func `a refusal names the holder of the lock`(use: AppLock.Use, clause: String) throws {
    // The text of an earlier holder does not count.
    for other in AppLock.Use.allCases { _ = try app.lockOnceFree(other) }
    let held = try app.lockOnceFree(use)
    let error = #expect(throws: Failure.self) { try app.lock(.migrating) }
    expect(error?.description, is: "\(clause) (process \(getpid()))")
    expect(error?.hint?.isEmpty, is: false)
    expect(try app.holder(), is: AppLock.Holder(use: use, process: getpid()))
    withExtendedLifetime(held) {}
  }

  @Test func `a lock ends with its last holder`() throws {
    var held: AppLock? = try app.lock(.migrating)
    #expect(throws: Failure.self) { try app.lock(.running) }
    withExtendedLifetime(held) {}
    held = nil
    _ = try app.lockOnceFree(.running)
  }

  @Test func `a process that inherits the lock cannot write to its file`() throws {
    let held = try app.lock(.migrating)
    let inherited = try held.duplicate()
    expect(fcntl(inherited.raw, F_GETFL) & O_ACCMODE, is: O_RDONLY)
    expect(ftruncate(inherited.raw, 1 << 40), is: -1)
  }

  @Test func `a lock whose file is removed with the app is held by one at a time`() throws {
    let app = app
    for _ in 0..<5 {
      let first = try app.lockOnceFree(.removing)
      let second = try RunningThread("second") { try app.lock(.removing) }
      // The second has opened the file by then, and waits for the lock.
      poll(nil, 0, 30)
      try AppLock.remove(app.identifier, in: app.files)
      first.release()
      let held = try second.value()
      #expect(throws: Failure.self) { try app.lock(.removing) }
      withExtendedLifetime(held) {}
    }
  }

  @Test(arguments: [AppLock.Use.running, .migrating])
  func `an app in use is neither replaced nor removed`(use: AppLock.Use) throws {
    let held = try app.lock(use)
    let home = try scratch.home()
    let next = try SampleBundle(version: "2.0").write(in: scratch)
    expect(#expect(throws: Failure.self) { try home.install(next) }?.code, is: .appInUse)
    expect(#expect(throws: Failure.self) { try home.remove("org.example.notes") }?.code, is: .appInUse)
    expect(try home.app("org.example.notes").bundle.version, is: "1.0")
    // Other apps are not affected.
    try scratch.install(SampleBundle("org.example.other"))
    withExtendedLifetime(held) {}
  }

  @Test func `an app that is taken together with its lock is the current one`() throws {
    let home = try scratch.home()
    let taken = try home.app("org.example.notes", for: .running)
    expect(taken.app.bundle.version, is: "1.0")
    expect(try app.holder()?.use, is: .running)
    #expect(throws: Failure.self) { try scratch.install(SampleBundle(version: "2.0")) }
    withExtendedLifetime(taken.lock) {}
  }
}

/// Real processes. One at a time, because a child would inherit descriptors meant for another
/// test's child.
@Suite(.serialized) struct AppLockInheritanceTests {
  private let scratch: Scratch
  private let app: InstalledApp

  init() throws {
    scratch = try Scratch()
    app = try scratch.install()
  }

  /// A shell that runs until its standard input ends.
  private struct Child: ~Copyable {
    private let process: SpawnedProcess
    private let input: Descriptor

    init() throws {
      // The child must not keep its own input open: both ends close when a program starts.
      var pipe = try Descriptor.pipe()
      let theirs = pipe.takeReadEnd()
      process = try SpawnedProcess("/bin/sh", ["sh", "-c", "read line"], descriptors: [0: theirs.raw])
      input = pipe.takeWriteEnd()
    }

    consuming func end() throws {
      let process = process
      try input.close()
      expect(try process.exitCode(), is: 1)
    }
  }

  @Test func `a process that was started with the lock keeps it`() throws {
    var held: AppLock? = try app.lock(.migrating)
    try held?.keepOnExec()
    let child = try Child()
    held = nil
    let error = #expect(throws: Failure.self) { try app.lock(.running) }
    expect(error?.description.hasPrefix("the data of org.example.notes is being migrated"), is: true)
    try child.end()
    _ = try app.lockOnceFree(.running)
  }

  @Test func `other processes do not get it`() throws {
    var held: AppLock? = try app.lock(.migrating)
    withExtendedLifetime(held) {}
    let child = try Child()
    held = nil
    _ = try app.lockOnceFree(.running)
    try child.end()
  }
}
