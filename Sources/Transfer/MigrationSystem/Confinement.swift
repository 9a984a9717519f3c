import CSystem
import Glibc

/// The rights of a process over files. A child's confinement also takes sockets and child processes.
package struct Confinement: Sendable {
  package enum Access: Sendable {
    case read
    /// Also start programs and load libraries.
    case execute
    /// Also change, create and remove.
    case write
  }

  /// One file, or the contents of one directory.
  package struct Rule: Sendable {
    package let path: String
    package let access: Access
    /// Whether the path may be missing.
    package let isOptional: Bool
  }

  /// The parts of a confinement that this kernel can enforce.
  package struct Strength: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Files, by Landlock.
    package static let files = Strength(rawValue: 1)
    /// Sockets and processes, by a filter of system calls.
    package static let calls = Strength(rawValue: 2)

    /// Metadata of files: modes, owners, times and extended attributes.
    package static let attributes = Strength(rawValue: 4)

    package static let full: Strength = [.files, .calls, .attributes]
  }

  /// How a process is kept from changing the metadata of files.
  package enum AttributeGuard: Sendable {
    /// This process makes the changes for it, in the directories that it may write to.
    case answers
    /// Private mounts, which are read-only except for one directory.
    case mounts

    /// The guards that this machine has.
    package static let possible: [AttributeGuard] =
      (csystem_can_answer() != 0 ? [.answers] : []) + (csystem_has_own_mounts() != 0 ? [.mounts] : [])
  }

  package private(set) var rules: [Rule] = []
  /// The only directory in which metadata can be changed, if private mounts guard it; nil for none.
  package var changeable: String?
  /// The guard that keeps the process from changing other metadata; nil if there is none.
  package var attributeGuard = Confinement.usualGuard

  package init() {}

  package mutating func allow(_ access: Access, _ path: String, isOptional: Bool = false) {
    rules.append(Rule(path: path, access: access, isOptional: isOptional))
  }

  /// Prevents the calling thread, and the threads that it starts afterwards, permanently from
  /// creating, changing and removing items outside some directories. False if the kernel cannot.
  ///
  /// Where the kernel can restrict that, they also signal only their own processes, and reach no
  /// socket of another program that has no path.
  ///
  /// Not covered: permissions, owners, times and attributes of items outside, and open files.
  package static func keepWriting(within directories: [[UInt8]]) throws(SystemError) -> Bool {
    var texts = CTexts()
    defer { extendLifetime(texts) }
    var pointers: [UnsafePointer<CChar>?] = unsafe directories.map { unsafe UnsafePointer(texts.add($0)) }
    let result = unsafe pointers.withUnsafeMutableBufferPointer { buffer in
      unsafe csystem_confine_writing(buffer.baseAddress, buffer.count)
    }
    if result == -1 { throw SystemError(errno: errno, operation: "confine writing") }
    return result == 1
  }

  /// Keeps the calling thread, and the threads and processes that it starts afterwards, permanently from
  /// other programs: from the sockets of this machine's services, from memory and objects of the kernel
  /// that others use, and from the input of the terminal. False if this machine cannot.
  ///
  /// - Parameter reachesServices: leaves it the sockets of services that have a path.
  package static func leaveOthers(reachesServices: Bool) throws(SystemError) -> Bool {
    try calling("confine calls") { csystem_leave_others(reachesServices ? 1 : 0) } == 1
  }

  /// The parts that this machine can enforce.
  package static let strength: Strength = {
    var strength: Strength = []
    if hasLandlock { strength.insert(.files) }
    if csystem_has_call_filter() != 0 { strength.insert(.calls) }
    if usualGuard != nil { strength.insert(.attributes) }
    return strength
  }()

  /// The guard of metadata on this machine. Without Landlock, private mounts come first: they also
  /// keep the process from writing to most files.
  package static let usualGuard: AttributeGuard? = {
    let possible = AttributeGuard.possible
    return hasLandlock ? possible.first : possible.last
  }()

  /// The version of Landlock in the kernel; nil if it has none.
  package static var landlockVersion: Int? {
    let version = Int(csystem_landlock_version())
    return version > 0 ? version : nil
  }

  private static var hasLandlock: Bool { landlockVersion != nil }
}

/// A restricted view of the files for a program that this process becomes: in one directory it sees
/// only its own items.
package struct FileView: Equatable, Sendable {
  /// An absolute path without links.
  package let directory: String
  /// Absolute paths in it, of existing directories and files.
  package let shown: [String]
  /// A directory outside of it that appears empty.
  package let hidden: [UInt8]?

  package init(of directory: String, showing shown: [String], hiding hidden: [UInt8]? = nil) {
    self.directory = directory
    self.shown = shown
    self.hidden = hidden
  }

  /// Tries in another process whether the view is possible here. Returns the error if it is not.
  package func trial() -> SystemError? {
    let error = unsafe calling { view in unsafe csystem_try_to_narrow(view) }
    return error == 0 ? nil : SystemError(errno: error, operation: Self.operation)
  }

  /// Applies the view permanently to this process, and to the programs that it becomes and starts:
  /// in the directory no other item is visible, and none can be created. The process enters the
  /// current directory again by its path, or else the root. It must have only one thread.
  package func apply() throws(SystemError) {
    try perform(Self.operation) { unsafe calling { view in unsafe csystem_narrow(view) } }
  }

  private static let operation = "give a program private mounts"

  private func calling(_ body: (UnsafePointer<csystem_view>) -> CInt) -> CInt {
    var texts = CTexts()
    defer { extendLifetime(texts) }
    let pointers = unsafe texts.list(
      shown.map { Array($0.utf8) } + [Array(directory.utf8)] + (hidden.map { [$0] } ?? [])
    ).map { unsafe UnsafePointer($0) }
    return unsafe pointers.withUnsafeBufferPointer { pointers in
      // A null pointer follows the last text.
      var view = unsafe csystem_view(
        directory: pointers[shown.count], shown: pointers.baseAddress, shown_count: shown.count,
        hidden: pointers[shown.count + 1])
      return unsafe body(&view)
    }
  }
}

/// Finds out in another process how a confinement of writing would affect some directories, before
/// this process is confined permanently.
///
/// The kernel identifies a rule's directory by its inode in memory. A file system that creates a
/// new inode for each lookup, as 9p does, soon loses the rule, and then every operation in the
/// directory is refused.
package struct ConfinementTrial: Sendable {
  /// The result of a trial.
  package enum Outcome: Equatable, Sendable {
    /// The confinement works, or the trial was inconclusive.
    case works
    /// With the confinement these directories are unusable, and without it they are usable.
    case refuses([[UInt8]])
  }

  /// The first of the program's arguments in the other process.
  private static let word = Array("--try-confinement".utf8)
  /// The other process's exit code after its work; a bit is added for each directory that failed.
  private static let tried: CInt = 64
  /// The most directories, because each needs a bit.
  private static let most = 6

  private let executable: String
  private let patience: Duration

  /// The other process runs this program again (default: `/proc/self/exe`). It must complete its
  /// work within `patience` (default: 10 seconds).
  package init(executable: String = "/proc/self/exe", patience: Duration = .seconds(10)) {
    self.executable = executable
    self.patience = patience
  }

  /// Tries all directories, from a process that may write only within the given ones. Leaves no
  /// files behind.
  package func outcome(within rules: [[UInt8]], in directories: [[UInt8]]) -> Outcome {
    precondition(directories.count <= Self.most, "each directory has its bit")
    guard let failed = failures(within: rules, directories), !failed.isEmpty,
      // A failure that also happens without the confinement has another cause.
      let broken = failures(within: nil, failed)
    else { return .works }
    let refused = failed.filter { !broken.contains($0) }
    return refused.isEmpty ? .works : .refuses(refused)
  }

  /// The directories in which another process could not work, confined if there are rules; nil if
  /// the trial was inconclusive.
  private func failures(within rules: [[UInt8]]?, _ directories: [[UInt8]]) -> [[UInt8]]? {
    let arguments = [
      String(decoding: Self.word, as: UTF8.self), "\(CurrentProcess.id)", rules.map(Self.encoded) ?? "-",
      Self.encoded(directories),
    ]
    let variables = Environment.get("LD_LIBRARY_PATH").map { ["LD_LIBRARY_PATH": $0] } ?? [:]
    do throws(SystemError) {
      let endowment = ChildProcess.Endowment(
        output: try Self.nothing(), error: try Self.nothing(), channel: try Self.nothing(), lock: nil)
      let process = try ChildProcess(
        ChildProcess.Settings(
          executable: executable, arguments: arguments, environment: variables, directory: "/", confinement: nil),
        endowment)
      guard case .exited(let code)? = try process.end(by: .now().advanced(by: patience)), code >= Self.tried else {
        return nil
      }
      return directories.indices.filter { (code - Self.tried) >> CInt($0) & 1 == 1 }.map { directories[$0] }
    } catch {
      return nil
    }
  }

  private static func nothing() throws(SystemError) -> Descriptor { try Descriptor.open("/dev/null", .readWrite) }

  // MARK: The other process

  /// Does the work of the other process if the program's arguments ask for it. Returns the exit
  /// code.
  package static func perform(_ arguments: [[UInt8]]) -> CInt? {
    guard arguments.first == word, arguments.count == 4, let directories = decoded(arguments[3]) else { return nil }
    let name = Array(".peer-trial-".utf8) + arguments[1]
    if arguments[2] != Array("-".utf8) {
      guard let rules = decoded(arguments[2]), (try? Confinement.keepWriting(within: rules)) == true else { return 1 }
    }
    return directories.indices.reduce(tried) { code, index in
      (try? work(in: directories[index], under: name)) == nil ? code | 1 << CInt(index) : code
    }
  }

  /// Performs a receiver's operations in a directory, under a name that is removed afterwards.
  private static func work(in path: [UInt8], under name: [UInt8]) throws(SystemError) {
    // An earlier trial may have been interrupted.
    try? Directory.open(path).removeTree(name)
    try Directory.open(path).makeDirectory(name)
    do throws(SystemError) {
      let place = try Directory.open(path).openChildDirectory(name)
      try place.makeDirectory("directory")
      let file = try place.createFile("file")
      try file.write(at: 0, name.span)
      try file.synchronize()
      try place.rename("file", to: place, as: "renamed", noReplace: false)
      let inner = try place.openChildDirectory("directory")
      try place.rename("renamed", to: inner, as: "moved", noReplace: false)
      try inner.remove("moved")
      try place.removeDirectory("directory")
      try Directory.open(path).removeDirectory(name)
    } catch {
      try? Directory.open(path).removeTree(name)
      throw error
    }
  }

  // MARK: Paths as words

  /// Paths need not be text, but arguments must be: hexadecimal digits, separated by commas.
  private static func encoded(_ paths: [[UInt8]]) -> String {
    paths.map { path in
      path.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }.joined(separator: ",")
  }

  private static func decoded(_ word: [UInt8]) -> [[UInt8]]? {
    let paths = word.split(separator: UInt8(ascii: ",")).map { digits in
      stride(from: digits.startIndex, to: digits.endIndex - 1, by: 2).compactMap { index in
        UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
      }
    }
    return paths.isEmpty || paths.count > most || paths.contains(where: \.isEmpty) ? nil : paths
  }
}
