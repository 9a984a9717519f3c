/// The description of the machine in an error report, without names, paths and addresses.
package enum SystemDescription {
  /// The name and version of the distribution, as its own file has them.
  package static var distribution: String? {
    text("/etc/os-release").flatMap { value(of: "PRETTY_NAME", in: $0) }
  }

  /// The release of the kernel.
  package static var kernel: String? {
    text("/proc/sys/kernel/osrelease").map { String($0.prefix { !$0.isNewline }) }
  }

  /// The processors for which this program was built.
  package static var architecture: String {
    #if arch(x86_64)
      "x86_64"
    #elseif arch(arm64)
      "aarch64"
    #else
      "unknown"
    #endif
  }

  /// The kernel's name of the file system that has a path, or would have it once it is made, such as
  /// "ext4"; nil if this user cannot see it.
  package static func fileSystem(of path: [UInt8]) -> String? {
    var nearest = path
    while nearest.count > 1, !FileContent.isDirectory(nearest) { nearest = FileContent.split(nearest).directory }
    guard let directory = try? Directory.open(nearest), let about = text("/proc/self/fdinfo/\(directory.raw)"),
      let mounts = text("/proc/self/mountinfo")
    else { return nil }
    return mount(about: about, in: mounts)?.type
  }

  /// The type and the source of the file system of an open file, by the kernel's records of the file
  /// and of all mounts.
  static func mount(about file: String, in mounts: String) -> (type: String, source: String)? {
    guard let mount = value(of: "mnt_id", in: file, separator: ":") else { return nil }
    for line in mounts.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.first.map(String.init) == mount, let end = words.firstIndex(of: "-"), end + 2 < words.count else {
        continue
      }
      return (String(words[end + 1]), String(words[end + 2]))
    }
    return nil
  }

  /// The identity of an open file's file system, which stays the same from mount to mount: its
  /// UUID, or the type and the source if no block device has it. Nil for a block device without a
  /// UUID, or if this process cannot see it.
  package static func lastingFileSystem(of file: borrowing Descriptor) -> String? {
    if let uuid = file.fileSystemUUID() { return "UUID \(uuid)" }
    guard let about = text("/proc/self/fdinfo/\(file.raw)"), let mounts = text("/proc/self/mountinfo"),
      let mount = mount(about: about, in: mounts)
    else { return nil }
    guard mount.source.hasPrefix("/dev/") else { return "\(mount.type) \(mount.source)" }
    return uuid(ofDevice: mount.source).map { "UUID \($0)" }
  }

  /// The UUID of the file system on a block device, as the device manager lists it.
  private static func uuid(ofDevice path: String) -> String? {
    guard let list = try? Directory.open(Array("/dev/disk/by-uuid".utf8)), let names = try? list.names() else {
      return nil
    }
    func last(_ path: [UInt8]) -> [UInt8] { FileContent.split(path).name }
    let (folder, name) = FileContent.split(Array(path.utf8))
    // A mapped device is a link to the one with its number.
    let device = (try? Directory.open(folder).readLink(name)).map(last) ?? name
    let found = names.first { name in (try? list.readLink(name)).map(last) == device }
    return found.map { String(decoding: $0, as: UTF8.self) }
  }

  /// The value of a name in lines of names and values; the value may have quotation marks.
  static func value(of name: String, in lines: String, separator: Character = "=") -> String? {
    for line in lines.split(separator: "\n") {
      guard let end = line.firstIndex(of: separator), line[..<end] == name else { continue }
      let value = line[line.index(after: end)...].drop { $0.isWhitespace }
      let marks: [Character] = ["\"", "'"]
      guard let mark = value.first, marks.contains(mark), value.count > 1, value.last == mark else {
        return String(value)
      }
      return String(value.dropFirst().dropLast())
    }
    return nil
  }

  /// A file of the system; nil if it is missing or strangely long.
  private static func text(_ path: String) -> String? {
    guard let file = try? Descriptor.openThroughLinks(Array(path.utf8)),
      let bytes = try? file.readToEnd(limit: 1 << 20)
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
