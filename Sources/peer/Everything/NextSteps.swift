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
  func steps(_ catalogue: PackageCatalogue) -> [NextStep] {
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

  private func installing(_ catalogue: PackageCatalogue) -> [NextStep] {
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
