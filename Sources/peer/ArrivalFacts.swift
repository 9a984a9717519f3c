import MigrationArchive
import MigrationSystem
import MigrationWire

/// Gathers, before anything arrives, the places of this device where programs look for code and settings.
struct ArrivalFacts {
  var facts: ArrivalRule.Facts
  /// A clause for the user about places that are not known.
  var notice: String?

  /// - Parameters:
  ///   - destination: with links resolved.
  ///   - own: folders that this program reads, and PEER_HOME.
  ///   - secrets: files and folders of every home with secrets, besides those of the rule.
  ///   - asksShell: whether the shell of this user's logins tells its PATH, too.
  ///   - variable: the environment.
  ///   - current: the current directory, which an empty name of PATH means.
  init(
    destination: [UInt8], own: [[UInt8]], secrets: [[UInt8]], asksShell: Bool,
    variable: (String) -> [UInt8]? = Environment.bytes, current: [UInt8]? = try? Directory.open(".").canonicalPath()
  ) {
    facts = ArrivalRule.Facts(destination: destination)
    facts.secretAtHome = secrets
    var homes = [variable("HOME"), CurrentProcess.homeDirectory].compactMap(\.self)
    if CurrentProcess.effectiveUserID == 0 {
      homes += EverythingOptions.FormerHome.homes(below: [UInt8(ascii: "/")]) + Self.homesOfOwners(above: destination)
    }
    // Arriving items could create a home that does not exist yet.
    facts.homes = Self.resolved(homes.filter { $0.first == UInt8(ascii: "/") && $0.count > 1 }, links: false)
    func list(_ name: String) -> [[UInt8]] { variable(name).map { Self.split($0) } ?? [] }
    var running = variable("PATH").map { Self.split($0, at: current) } ?? []
    running += own + Self.folders.flatMap { list($0) } + Self.prefix(besides: facts.homes)
    if asksShell, let shell = LoginShell() {
      if let path = shell.path() {
        running += Self.split(path)
      } else {
        notice =
          "the login shell \(VisibleText.of(shell.program)) does not tell its PATH: only the PATH of this command counts"
      }
    }
    facts.running = Self.resolved(running, links: true)
    let data = variable("XDG_DATA_HOME").map { $0 + [UInt8(ascii: "/")] }
    let secret = ["keyrings", "kwalletd"].compactMap { name in data.map { $0 + Array(name.utf8) } }
    facts.secret = Self.resolved(secret + list("GNUPGHOME"), links: true)
  }

  /// The variables with the folders of the user's settings and data, which may lie outside of a home.
  private static let folders = [
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_BIN_HOME", "XDG_RUNTIME_DIR",
    "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
  ]

  /// The places where this program is installed. A prefix with a home in it is more than one place:
  /// then only the folders of programs and of their data count.
  private static func prefix(besides homes: [[UInt8]]) -> [[UInt8]] {
    guard let program = try? ShippedFolder.program() else { return [] }
    let folder = FileContent.split(program).directory
    guard FileContent.split(folder).name == Array("bin".utf8) else { return [folder] }
    let prefix = FileContent.split(folder).directory
    let slash = [UInt8(ascii: "/")]
    let hasHome = prefix.count < 2 || homes.contains { $0 == prefix || $0.starts(with: prefix + slash) }
    return hasHome ? ["bin", "lib", "share/peer"].map { prefix + slash + Array($0.utf8) } : [prefix]
  }

  /// The homes of the users whose folders hold a place: a service of the network may know users that no
  /// list here has.
  private static func homesOfOwners(above path: [UInt8]) -> [[UInt8]] {
    var owners: Set<UInt32> = []
    var path = path
    while path.count > 1 {
      if let owner = (try? Directory.status(of: path))?.owner { owners.insert(owner) }
      path = FileContent.split(path).directory
    }
    return owners.compactMap { CurrentProcess.homeDirectory(ofUser: $0) }
  }

  /// The absolute paths of a list with colons. With `current`, the relative paths too; an empty
  /// path is the current directory.
  private static func split(_ list: [UInt8], at current: [UInt8]? = nil) -> [[UInt8]] {
    list.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).compactMap { path in
      if path.first == UInt8(ascii: "/") { return Array(path) }
      return current.map { $0 + [UInt8(ascii: "/")] + path }
    }
  }

  private static func resolved(_ paths: [[UInt8]], links: Bool) -> [[UInt8]] {
    var all: [[UInt8]] = []
    for path in paths {
      let resolved = ResolvedPath(path) { folder, name in try? Directory.target(of: name, in: folder) }
      for path in [resolved.path] + (links ? resolved.links : []) where !all.contains(path) { all.append(path) }
    }
    return all
  }

  /// The target of an absolute path, as far as it exists, and the links on the way.
  struct ResolvedPath: Equatable {
    private(set) var path: [UInt8] = []
    /// Their own places.
    private(set) var links: [[UInt8]] = []

    private static let mostLinks = 40

    /// - Parameter target: the target of a link in a folder; nil if there is none.
    init(_ given: [UInt8], target: (_ folder: [UInt8], _ name: [UInt8]) -> [UInt8]?) {
      let slash = UInt8(ascii: "/")
      var rest = Array(given.split(separator: slash).reversed())
      while let name = rest.popLast() {
        if name.elementsEqual(".".utf8) { continue }
        if name.elementsEqual("..".utf8) {
          path = Array(path[..<(path.lastIndex(of: slash) ?? 0)])
          continue
        }
        let next = path + [slash] + name
        guard links.count < Self.mostLinks, let target = target(path.isEmpty ? [slash] : path, Array(name)) else {
          path = next
          continue
        }
        links.append(next)
        if target.first == slash { path = [] }
        rest += target.split(separator: slash).reversed()
      }
      if path.isEmpty { path = [slash] }
    }
  }

  /// The shell of this user's logins, which may have more folders in its PATH than this process.
  struct LoginShell: Sendable {
    let program: String
    /// How long it may take to answer.
    var patience = Duration.seconds(2)
    private static let longest = 1 << 20

    init(program: String, patience: Duration) { (self.program, self.patience) = (program, patience) }

    /// Nil if the list of users has none that can be started, or if another user than root could have
    /// changed it.
    init?() {
      guard let shell = CurrentProcess.loginShell, shell.first == UInt8(ascii: "/"),
        let status = try? Directory.status(of: shell), status.kind == .regular, status.owner == 0,
        status.mode & 0o022 == 0, status.mode & 0o111 != 0
      else { return nil }
      let name = FileContent.split(shell).name
      // A user with one of these does not log in.
      if ["nologin", "false", "true", "sync"].contains(String(decoding: name, as: UTF8.self)) { return nil }
      program = String(decoding: shell, as: UTF8.self)
    }

    /// Its PATH; nil if it does not say it in time. It has no terminal.
    func path() -> [UInt8]? {
      let output = try? ChildProcess.run(
        program, ["-l", "-c", "exec /usr/bin/env"], environment: Self.environment(), limit: Self.longest,
        patience: patience)
      guard let output else { return nil }
      let start = Array("PATH=".utf8)
      // A shell may greet its user first.
      return output.split(separator: UInt8(ascii: "\n")).last { $0.starts(with: start) }.map { Array($0.dropFirst(5)) }
    }

    private static let variables = ["USER", "LOGNAME", "SHELL", "LANG", "PATH"]
    /// The variables with the places of its start files; not for root if HOME is another user's home.
    private static let places = ["HOME", "XDG_CONFIG_HOME", "ZDOTDIR"]

    /// The variables of this process's environment that the shell gets.
    static func environment(_ variable: (String) -> String? = Environment.get) -> [String: String] {
      let owner = variable("HOME").flatMap { try? Directory.status(of: Array($0.utf8)).owner }
      let isOwn = owner == CurrentProcess.effectiveUserID
      let environment = (variables + (isOwn ? places : [])).compactMap { name in variable(name).map { (name, $0) } }
      return Dictionary(uniqueKeysWithValues: environment)
    }
  }
}
