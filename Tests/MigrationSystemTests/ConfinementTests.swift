import Glibc
import TestSupport
import Testing

@testable import MigrationSystem

@Suite struct ConfinementTests {
  /// Confinement is permanent, so each test has its own thread.
  private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) throws -> Value {
    try RunningThread("confined", body).value()
  }

  @Test(.enabled(if: Confinement.strength.contains(.files), "the kernel has no Landlock"))
  func `no item outside can be created, changed, moved or removed, also by threads that start later`() throws {
    let scratch = try Scratch()
    for name in ["inside", "inside/deep", "outside"] { try scratch.directory.makeDirectories(name) }
    _ = try scratch.directory.openChildDirectory("outside").createFile("there")
    let path = scratch.path
    let refused = try onThread { () -> [CInt] in
      guard (try? Confinement.keepWriting(within: [Array("\(path)/inside".utf8)])) == true else { return [-1] }
      let thread = try? RunningThread("later") {
        let tries: [() -> CInt] = [
          { open("\(path)/outside/new", O_CREAT | O_WRONLY, 0o600) }, { open("\(path)/outside/there", O_WRONLY) },
          { mkdir("\(path)/outside/directory", 0o700) }, { unlink("\(path)/outside/there") },
          { symlink("x", "\(path)/outside/link") }, { truncate("\(path)/outside/there", 0) },
          { rename("\(path)/outside/there", "\(path)/inside/taken") },
        ]
        return tries.map { attempt in attempt() == -1 ? errno : 0 }
      }
      return (try? thread?.value()) ?? []
    }
    #expect(refused.count == 7 && refused.allSatisfy { $0 == EACCES || $0 == EXDEV }, "\(refused)")
  }

  @Test(.enabled(if: Confinement.strength.contains(.files), "the kernel has no Landlock"))
  func `access inside is unchanged, and items outside can be read`() throws {
    let scratch = try Scratch()
    for name in ["inside", "inside/one", "inside/two"] { try scratch.directory.makeDirectories(name) }
    _ = try scratch.directory.createFile("outside")
    let path = scratch.path
    let results = try onThread { () -> [Bool] in
      guard (try? Confinement.keepWriting(within: [Array("\(path)/inside".utf8)])) == true else { return [false] }
      return [
        open("\(path)/inside/one/new", O_CREAT | O_WRONLY, 0o600) >= 0,
        rename("\(path)/inside/one/new", "\(path)/inside/two/moved") == 0,
        unlink("\(path)/inside/two/moved") == 0, rmdir("\(path)/inside/two") == 0,
        open("\(path)/outside", O_RDONLY) >= 0, open("/dev/null", O_WRONLY) >= 0,
      ]
    }
    #expect(results == [Bool](repeating: true, count: 6))
  }
}
