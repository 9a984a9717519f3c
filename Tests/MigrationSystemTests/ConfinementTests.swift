import Expectations
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
    expect(refused.count == 7 && refused.allSatisfy { $0 == EACCES || $0 == EXDEV }, "\(refused)")
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
    expect(results, is: [Bool](repeating: true, count: 6))
  }

  /// A socket that listens as the bus of a session does: at a path, or without one.
  private func listener(_ name: String) throws -> Descriptor {
    let descriptor = Descriptor(owning: socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0))
    let result = withLocalAddress(name) { bind(descriptor.raw, $0, $1) }
    try #require(result == 0 && listen(descriptor.raw, 4) == 0, "\(errno)")
    return descriptor
  }

  @Test(
    .enabled(
      if: Confinement.strength.contains([.files, .calls]) && Confinement.landlockVersion ?? 0 >= 6,
      "the kernel lacks a part"), arguments: [false, true])
  func `a confined process reaches no bus, and no other process`(reachesServices: Bool) throws {
    let scratch = try Scratch()
    let (path, abstract) = (scratch.path + "/bus", "@" + scratch.path)
    let listeners = try [path, abstract].map { SharedDescriptor(try listener($0)) }
    let other = try SpawnedProcess("/bin/sleep", ["sleep", "600"])
    let id = other.id
    let inside = scratch.at("inside")
    try scratch.directory.makeDirectory("inside")
    let results = try onThread { () -> [String: CInt] in
      guard (try? Confinement.keepWriting(within: [inside])) == true,
        (try? Confinement.leaveOthers(reachesServices: reachesServices)) == true
      else { return [:] }
      func error(_ result: CInt) -> CInt { result == -1 ? errno : 0 }
      func reach(_ name: String) -> CInt {
        let raw = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        return raw == -1 ? errno : error(withLocalAddress(name) { connect(raw, $0, $1) })
      }
      func pair(_ kind: __socket_type) -> CInt {
        var ends: [CInt] = [0, 0]
        return error(socketpair(AF_UNIX, CInt(kind.rawValue), 0, &ends))
      }
      return [
        "bus": reach(path), "bus without a path": reach(abstract), "signal": error(kill(id, 0)),
        "own signal": error(kill(getpid(), 0)), "datagrams": pair(SOCK_DGRAM), "packets": pair(SOCK_SEQPACKET),
        "network": error(socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)),
        "changes of it": error(socket(AF_NETLINK, CInt(SOCK_RAW.rawValue), 0)),
        "memory": error(open("/proc/\(id)/mem", O_RDONLY)),
      ]
    }
    expect(
      results,
      is: [
        "bus": reachesServices ? 0 : EACCES, "bus without a path": reachesServices ? EPERM : EACCES, "signal": EPERM,
        "own signal": 0, "datagrams": EACCES, "packets": 0, "network": 0, "changes of it": 0,
        "memory": EACCES,
      ])
    extendLifetime(listeners)
  }
}

/// Lends the address of a socket on this machine; a name that begins with @ is no path.
private func withLocalAddress(_ name: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.utf8) }
  if name.first == "@" { address.sun_path.0 = 0 }
  let length = socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count)
  return withUnsafePointer(to: &address) { address in
    address.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
  }
}
