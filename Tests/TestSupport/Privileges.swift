import Glibc
import MigrationSystem

/// Whether the tests run as the superuser, to whom modes of files do not apply.
package let isRoot = geteuid() == 0

/// Whether a file system can be mounted here; a container may refuse it to the superuser too.
package let canMount: Bool = {
  guard isRoot, let scratch = try? Scratch(), mount("tmpfs", scratch.path, "tmpfs", 0, "size=1m") == 0 else {
    return false
  }
  return umount2(scratch.path, CInt(MNT_DETACH)) == 0
}()

/// Whether terminals can be created here; a minimal root file system has none.
package let hasTerminals: Bool = {
  var (outside, inside): (CInt, CInt) = (-1, -1)
  guard openpty(&outside, &inside, nil, nil, nil) == 0 else { return false }
  close(outside)
  close(inside)
  return true
}()

/// Changes the user of the calling thread's file operations, and only of this thread's.
@_silgen_name("setfsuid") private func setFileSystemUser(_ user: UInt32) -> CInt

/// Runs `body` on a thread to which modes of files apply: with the permissions of an ordinary user,
/// the owner of these paths.
package func withoutPrivileges<Value: Sendable>(
  owning paths: [String], _ body: @escaping @Sendable () throws -> Value
) throws -> Value {
  let nobody: uid_t = 65534
  if isRoot {
    for path in paths where lchown(path, nobody, nobody) != 0 {
      throw SystemError(errno: errno, operation: "give \(path) away")
    }
  }
  return try RunningThread("other user") {
    if isRoot { _ = setFileSystemUser(nobody) }
    return try body()
  }.value()
}
