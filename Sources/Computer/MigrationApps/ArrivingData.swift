package import MigrationArchive
import MigrationSystem
package import MigrationWire

/// The data of an app just before it is put in place, with its references to the computer that it
/// comes from.
package struct ArrivingData: Sendable {
  private let arrival: AppDestination
  private let paths: OldPaths?
  private let tell: @Sendable (String) -> Void

  /// `tell` gets clauses for the user.
  package init(_ arrival: AppDestination, paths: OldPaths?, tell: @escaping @Sendable (String) -> Void) {
    self.arrival = arrival
    self.paths = paths
    self.tell = tell
  }

  private static let longestFile = 1 << 20
  /// The most items that are looked at.
  private static let mostItems = 5000
  /// The number of names that the user is told.
  private static let namedFiles = 3

  /// Replaces the old home's paths where the description says that they stand, and tells what does
  /// not carry over.
  package func prepare(_ files: StagedFiles) throws(Failure) {
    if !arrival.settings.isEmpty { return try keepSettings(files) }
    if let paths {
      for path in arrival.homeFiles { try replace(paths, in: path, files) }
    }
    look(at: files)
  }

  private var name: String { VisibleText.of(arrival.name) }

  /// A path of the part, as it is at this device.
  private func place(of path: ArchivePath) -> String {
    let place = arrival.places[String(decoding: path.root, as: UTF8.self)] ?? []
    return VisibleText.quoted(place + path.bytes.dropFirst(path.root.count))
  }

  private func replace(_ paths: OldPaths, in path: ArchivePath, _ files: StagedFiles) throws(Failure) {
    guard let content = files.content(of: path, atMost: Self.longestFile), let new = paths.replaced(in: content)
    else { return }
    try files.replaceContent(of: path, with: new.content)
    tell(
      "in \(place(of: path)), \(new.count) \(new.count == 1 ? "path" : "paths") below "
        + "\(VisibleText.quoted(paths.home)) now \(new.count == 1 ? "leads" : "lead") to this home")
  }

  /// Keeps of the settings only the keys that the description names.
  private func keepSettings(_ files: StagedFiles) throws(Failure) {
    guard let path = try? ArchivePath(Array(AppCatalogue.settingsKey.utf8)),
      let content = files.content(of: path, atMost: DesktopSettings.longest)
    else { return }
    let settings = DesktopSettings(dump: content)?.only(arrival.settings)
    var kept = settings?.dump ?? []
    if arrival.homeFiles.contains(path), let new = paths?.replaced(in: kept) { kept = new.content }
    if kept != content { try files.replaceContent(of: path, with: kept) }
  }

  private func look(at files: StagedFiles) {
    var (naming, foreign, leading): ([ArchivePath], [ArchivePath], [ArchivePath]) = ([], [], [])
    var newest: Version?
    files.look(atMost: Self.mostItems) { path, sight in
      switch sight {
      case .link(let target): if paths?.leads(target) == true { leading.append(path) }
      case .other(let beginning): if Machine.isForeign(beginning) { foreign.append(path) }
      case .text(let content):
        if arrival.homeFiles.contains(path) { return }
        if paths?.stands(in: content) == true { naming.append(path) }
        let version = arrival.description?.written?.version(in: content, of: path)
        if let version, newest.map({ $0 < version }) ?? true { newest = version }
      }
    }
    if let paths, !naming.isEmpty {
      tell(
        "\(name) names \(VisibleText.quoted(paths.home)) in \(list(naming)): these paths may lead nowhere here")
    }
    if let paths, !leading.isEmpty {
      tell("links of \(name) lead into \(VisibleText.quoted(paths.home)), and nowhere here: \(list(leading))")
    }
    if !foreign.isEmpty { tell("\(name) has programs for another processor, which do not run here: \(list(foreign))") }
    if let newest, let installed = arrival.installed, installed < newest {
      tell(
        "\(name) is version \(installed) here, and \(newest) has written the data that arrives: update it before you "
          + "start it, since it may refuse newer data")
    }
  }

  private func list(_ paths: [ArchivePath]) -> String {
    let named = paths.prefix(Self.namedFiles).map { place(of: $0) }.joined(separator: ", ")
    return paths.count > Self.namedFiles ? named + " and \(paths.count - Self.namedFiles) more" : named
  }

  /// The kind of processor that a program in the ELF format is for.
  struct Machine: Equatable, Sendable {
    private let code: [UInt8]

    /// How many bytes at the beginning of a file tell it.
    private static let length = 20

    /// Nil if the file is no program.
    init?(of beginning: [UInt8]) {
      guard beginning.count >= Self.length, beginning.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else { return nil }
      // The class, the order of the bytes, and the machine: elf(5).
      code = Array(beginning[4...5] + beginning[18...19])
    }

    /// Whether a file that begins like this is a program for another kind of processor.
    static func isForeign(_ beginning: [UInt8]) -> Bool {
      guard let own, let machine = Machine(of: beginning) else { return false }
      return machine != own
    }

    /// That of this process.
    static let own: Machine? = {
      var bytes = [UInt8](repeating: 0, count: length)
      guard let file = try? Descriptor.openThroughLinks(Array("/proc/self/exe".utf8)),
        (try? file.readFully(at: 0, into: &bytes)) == length
      else { return nil }
      return Machine(of: bytes)
    }()
  }
}
