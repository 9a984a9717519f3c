package import MigrationArchive
package import MigrationWire

/// The arriving items that lead into the home of their old computer, and so lead nowhere: the first
/// names and the number of each kind.
package struct HomeTraces: Equatable, Sendable {
  package enum Kind: CaseIterable, Sendable {
    case link
    case worktree
    case environment
    case file
  }

  private struct Found: Equatable, Sendable {
    var names: [[UInt8]] = []
    var count: UInt64 = 0
  }

  private var found: [Kind: Found] = [:]

  package init() {}

  /// How many names are told of a kind.
  private static let namedFiles = 3
  /// How many items are looked at.
  private static let mostItems = 50_000

  /// Looks at the staged files of a part. `place` gives an item's path on this device.
  package mutating func look(
    at files: StagedFiles, for paths: OldPaths, place: (ArchivePath) -> [UInt8]
  ) {
    files.look(atMost: Self.mostItems) { path, sight in
      switch sight {
      case .link(let target): if paths.leads(target) { note(.link, place(path)) }
      case .text(let content): if paths.stands(in: content) { note(Self.kind(of: path, content), place(path)) }
      case .other: break
      }
    }
  }

  /// The kind of a file that names the old home.
  static func kind(of path: ArchivePath, _ content: [UInt8]) -> Kind {
    let names = path.bytes.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    let isOfWorktree = names.last == ".git" || names.last == "gitdir" && names.contains("worktrees")
    if isOfWorktree, content.starts(with: "gitdir: ".utf8) || names.last == "gitdir" { return .worktree }
    if names.last == "pyvenv.cfg" || names.dropLast().last == "bin" && names.last?.hasPrefix("activate") == true {
      return .environment
    }
    return names.dropLast().last == "bin" && content.starts(with: "#!/".utf8) ? .environment : .file
  }

  mutating func note(_ kind: Kind, _ path: [UInt8]) {
    found[kind, default: Found()].count += 1
    if found[kind, default: Found()].names.count < Self.namedFiles { found[kind]?.names.append(path) }
  }

  /// A sentence for each kind, with the names behind a colon. `home` is the old home.
  package func sentences(_ home: [UInt8]) -> [String] {
    Kind.allCases.compactMap { kind -> String? in
      guard let found = found[kind] else { return nil }
      let names = found.names.map { VisibleText.listed($0) }.joined(separator: ", ")
      let more =
        found.count > found.names.count ? " and \(Figures.count(found.count - UInt64(found.names.count))) more" : ""
      let (one, many, advice) = kind.words
      return
        "\(Figures.count(found.count)) \(found.count == 1 ? one : many) \(VisibleText.quoted(home)), \(advice): \(names)\(more)"
    }
  }
}

extension HomeTraces.Kind {
  /// The words for one item, the words for several items, and the advice.
  fileprivate var words: (one: String, many: String, advice: String) {
    switch self {
    case .link: ("link leads into", "links lead into", "and nowhere here")
    case .worktree:
      (
        "file of a Git worktree names", "files of Git worktrees name",
        "run 'git worktree repair' in the repository of each"
      )
    case .environment:
      (
        "program of a virtual environment names", "programs of virtual environments name",
        "so make these environments anew"
      )
    case .file: ("file names", "files name", "where these paths may lead nowhere")
    }
  }
}
