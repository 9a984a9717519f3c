import MigrationSystem
import MigrationWire

/// The processes of a user, by the names of their programs.
package struct RunningPrograms: Sendable {
  private var processes: [String: String] = [:]
  /// Nil if no process counts, as for a home from elsewhere.
  private let user: UInt32?

  /// No processes.
  package init() { user = nil }

  /// The processes of a user, as the kernel lists them now below `folder`.
  package init(of user: UInt32, in folder: [UInt8] = Array("/proc".utf8)) {
    self.user = user
    guard let list = try? Directory.open(folder) else { return }
    try? list.forEachEntry { (name, _) throws(SystemError) in
      let process = String(decoding: [UInt8](copying: name), as: UTF8.self)
      guard process.utf8.allSatisfy({ (48...57).contains($0) }), (try? list.status(name))?.owner == user,
        let state = ProcessState(of: process)
      else { return true }
      processes[state.name] = process
      return true
    }
  }

  /// The first of some programs that runs, with the number of its process, for people. The kernel
  /// keeps 15 bytes of a name.
  func first(of names: [String]) -> String? {
    for name in names {
      if let process = processes[String(decoding: name.utf8.prefix(15), as: UTF8.self)] {
        return "\(name), process \(process)"
      }
    }
    return nil
  }

  /// The process that has one of some lock files in a folder, for people.
  func holder(of locks: [PathPattern], in folder: borrowing Directory) -> String? {
    guard user != nil else { return nil }
    for lock in locks {
      if let holder = holder(of: lock.components[...], in: folder) { return holder }
    }
    return nil
  }

  private static let mostEntries = 1000

  private func holder(of lock: ArraySlice<[UInt8]>, in folder: borrowing Directory) -> String? {
    guard let name = lock.first else { return nil }
    if lock.count == 1 { return holder(of: name, in: folder) }
    var names = [name]
    if name == PathPattern.any {
      names = []
      try? folder.forEachEntry { (name, _) throws(SystemError) in
        names.append([UInt8](copying: name))
        return names.count < Self.mostEntries
      }
    }
    for name in names {
      guard let child = try? folder.openChildDirectory(name) else { continue }
      if let holder = holder(of: lock.dropFirst(), in: child) { return holder }
    }
    return nil
  }

  /// A file is locked; a symbolic link has the number of a process at its end.
  private func holder(of name: [UInt8], in folder: borrowing Directory) -> String? {
    guard let status = try? folder.status(name) else { return nil }
    switch status.kind {
    case .regular:
      guard let process = (try? folder.openChild(name))?.recordLockHolder() else { return nil }
      return words(ofProcess: "\(process)")
    case .symbolicLink:
      guard let target = try? folder.readLink(name) else { return nil }
      let digits = String(decoding: target.suffix { (48...57).contains($0) }, as: UTF8.self)
      guard let age = age(ofProcess: digits) else { return nil }
      let made = Timestamp.coarseNow().seconds(since: status.changed)
      return Self.mayHaveMade(linkOfAge: made, processOfAge: age) ? words(ofProcess: digits) : nil
    case .directory, .fifo, .socket, .blockDevice, .characterDevice: return nil
    }
  }

  /// Numbers of processes are used again: the process that made a link is older than the link. The
  /// clocks of both differ.
  static func mayHaveMade(linkOfAge link: Double, processOfAge process: Double) -> Bool { process + 2 > link }

  private func words(ofProcess process: String) -> String {
    (ProcessState(of: process).map { "\($0.name), " } ?? "") + "process \(process)"
  }

  /// The seconds since a process of this user began; nil if there is none.
  private func age(ofProcess process: String) -> Double? {
    guard !process.isEmpty, (try? Directory.status(of: Array("/proc/\(process)".utf8)))?.owner == user,
      let state = ProcessState(of: process)
    else { return nil }
    return BootInstant.now().seconds - state.began
  }

  /// The kernel's facts about a running process.
  private struct ProcessState {
    let name: String
    /// In seconds since the machine started.
    let began: Double

    /// Nil if there is no such process, or one that has ended and waits for its parent.
    init?(of process: String) {
      guard let text = try? Descriptor.openThroughLinks(Array("/proc/\(process)/stat".utf8)).readToEnd(limit: 4096),
        let start = text.firstIndex(of: UInt8(ascii: "(")), let end = text.lastIndex(of: UInt8(ascii: ")")), start < end
      else { return nil }
      // proc_pid_stat(5): the state, field 3, and the start in hundredths of a second, field 22.
      let fields = String(decoding: text[(end + 1)...], as: UTF8.self).split(separator: " ")
      guard fields.count > 19, !["Z", "X"].contains(fields[0]), let began = Double(fields[19]) else { return nil }
      name = String(decoding: text[(start + 1)..<end], as: UTF8.self)
      self.began = began / 100
    }
  }
}

extension [UInt8] {
  /// The longest end of which each byte fits.
  fileprivate func suffix(_ fits: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    self[(lastIndex { !fits($0) }.map { $0 + 1 } ?? startIndex)...]
  }
}
