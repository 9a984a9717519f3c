import MigrationApps
import MigrationSystem
import MigrationWire

/// One step: a sentence for a terminal, and the facts for a program that has its own words.
struct NextStep: Equatable, Sendable {
  enum Kind: String, CaseIterable {
    /// The old data beside the new one; and how to go back to it.
    case look, goBack
    /// Items arrived in the first place, since the second is outside of the home.
    case placed
    /// Programs, other programs and apps to install.
    case install, installOthers, installApps
    /// Programs, and the other device's programs, that no catalogue here has.
    case missing, missingOthers
    /// The labels of files.
    case labels
    /// Files that lead to the old home.
    case traces
  }

  let kind: Kind
  let sentence: String
  var names: [String] = []

  var members: JSONMembers { ["step": kind.rawValue, "names": names] }
}

/// The next steps of this device's user after a migration: to install the programs of the arrived
/// data, and to look at the old data that was set aside. A command to copy comes last in its
/// sentence, after a colon.
struct NextSteps {
  /// The programs that this device lacks.
  var missing: [AppDestination.Missing] = []
  /// The packages that the other device's user has installed, and that are not installed here.
  var others: Set<String> = []
  /// The old data beside the new one, by absolute paths.
  var aside: [Asides.Aside] = []
  /// Folders of the user for which `user-dirs.dirs` names a place outside of the home, with that
  /// place. Their items arrive in the home.
  var outside: [(place: [UInt8], configured: [UInt8])] = []
  /// The home, if files in it need labels that this program does not set.
  var unlabelled: [UInt8]?

  /// The steps. `catalogue` says which of the missing programs can be named in a command.
  func steps(_ catalogue: Catalogue) -> [NextStep] {
    decidingAboutOldData + placing + installing(catalogue)
      + (unlabelled.map { home in
        let command = "restorecon -R \(VisibleText.listed(home))"
        return [
          NextStep(
            kind: .labels, sentence: "SELinux is on here. After the last pass, restore the labels: \(command)")
        ]
      } ?? [])
  }

  private var placing: [NextStep] {
    outside.map {
      let names = [$0.place, $0.configured].map { VisibleText.listed($0) }
      return NextStep(
        kind: .placed, sentence: "Arrived in \(names[0]), since \(names[1]) is outside of the home", names: names)
    }
  }

  private func installing(_ catalogue: Catalogue) -> [NextStep] {
    let needed = Set(missing.compactMap { if case .package(let name) = $0 { name } else { nil } })
    let flatpaks = Dictionary(grouping: missing.compactMap { if case .flatpak(let name) = $0 { name } else { nil } }) {
      catalogue.remote(of: $0) ?? ""
    }
    let (packages, known) = (catalogue.known(needed), catalogue.known(others))
    let installingApps = flatpaks.filter { !$0.key.isEmpty }.sorted { $0.key < $1.key }.flatMap { remote, names in
      step(.installApps, names, "To install the apps that the data belongs to: flatpak install \(remote)")
    }
    return step(
      .installOthers, known.subtracting(packages),
      "To install the other programs that the old computer's user had installed: apt install")
      + step(
        .missingOthers, others.subtracting(known),
        "Installed on the old computer, as it says, and in no catalogue of this one:", first: Self.shownNames, by: ", ")
      + step(.install, packages, "To install the programs that the data belongs to: apt install") + installingApps
      + step(
        .missing, needed.subtracting(packages).union(flatpaks[""] ?? []),
        "Not installed here, and found in no catalogue of this computer:", by: ", ")
  }

  /// A step with names after its words; none without a name.
  private func step(
    _ kind: NextStep.Kind, _ names: some Collection<String>, _ words: String, first shown: Int = .max,
    by separator: String = " "
  ) -> [NextStep] {
    let names = names.sorted().map { VisibleText.listed($0.utf8) }
    let sentence = "\(words) \(Figures.list(names, first: shown, by: separator))"
    return names.isEmpty ? [] : [NextStep(kind: kind, sentence: sentence, names: names)]
  }

  /// How many names that are in no catalogue are shown.
  private static let shownNames = 20

  private var decidingAboutOldData: [NextStep] {
    guard let first = aside.first else { return [] }
    let (place, name) = (VisibleText.listed(first.place), VisibleText.listed(first.name))
    let names = aside.map { VisibleText.listed($0.name) }
    let all = Figures.list(names, first: Self.shownNames, by: " ")
    let new = VisibleText.listed(first.place + Array(".after".utf8))
    return [
      NextStep(kind: .look, sentence: "\(DataHint.oldDataKept.text) \(all)", names: names),
      NextStep(kind: .goBack, sentence: DataHint.goingBack(to: name, at: place, keepingNew: new)),
    ]
  }
}

/// The programs that this computer's packagers offer. A name from elsewhere enters a command only
/// if it has the packager's grammar, and the packager knows it.
struct Catalogue {
  private let lists: [UInt8]
  private let flatpaks: [[UInt8]]

  /// `lists` is the folder of APT's lists of packages, and `flatpaks` are installations.
  init(lists: [UInt8], flatpaks: [[UInt8]]) {
    self.lists = lists
    self.flatpaks = flatpaks
  }

  private static func isSmall(_ byte: UInt8) -> Bool { (97...122).contains(byte) || (48...57).contains(byte) }

  /// The packages among these that APT can install.
  func known(_ packages: Set<String>) -> Set<String> {
    var wanted = packages.filter(Part.isPackage)
    var known: Set<String> = []
    for name in names(in: lists) where name.hasSuffix("_Packages") && !wanted.isEmpty {
      guard let file = try? Directory.open(lists).openChild(Array(name.utf8)) else { continue }
      known.formUnion(Self.packages(of: wanted, in: file))
      wanted.subtract(known)
    }
    return known
  }

  private static let block = 1 << 20

  /// The packages among these that a list has; the list may be long.
  private static func packages(of wanted: Set<String>, in file: borrowing Descriptor) -> Set<String> {
    let mark = Array("Package: ".utf8)
    var found: Set<String> = []
    var bytes = [UInt8](repeating: 0, count: block)
    var rest: [UInt8] = []
    while let count = try? file.readNext(into: &bytes), count > 0 {
      rest += bytes[..<count]
      guard let end = rest.lastIndex(of: 10) else { continue }
      for line in rest[..<end].split(separator: 10) where line.starts(with: mark) {
        let name = String(decoding: line.dropFirst(mark.count), as: UTF8.self)
        if wanted.contains(name) { found.insert(name) }
      }
      rest.removeSubrange(...end)
    }
    return found
  }

  /// The remote from which a Flatpak can be installed; nil if none is known to have it.
  func remote(of flatpak: String) -> String? {
    guard Flatpaks.isIdentifier(flatpak) else { return nil }
    for installation in flatpaks {
      let remotes = installation + Array("/appstream".utf8)
      for remote in names(in: remotes) where Self.isRemote(remote) {
        let folder = remotes + Array("/\(remote)".utf8)
        for architecture in names(in: folder) {
          let icons = folder + Array("/\(architecture)/active/icons".utf8)
          for size in names(in: icons) {
            let icon = icons + Array("/\(size)/\(flatpak).png".utf8)
            if (try? Directory.status(of: icon)) != nil { return remote }
          }
        }
      }
    }
    return nil
  }

  private static func isRemote(_ name: String) -> Bool {
    name.utf8.first != 45 && name.utf8.allSatisfy { isSmall($0) || (65...90).contains($0) || "+-._".utf8.contains($0) }
  }

  private func names(in folder: [UInt8]) -> [String] {
    ((try? Directory.open(folder).names()) ?? []).map { String(decoding: $0, as: UTF8.self) }.sorted()
  }
}
