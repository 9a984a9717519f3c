import MigrationEngine
import MigrationTransfer
import MigrationWire

/// The other device's plan for the decision of this device's user, by this device's own knowledge
/// of each part. The other device's names stand only beside, as quotations.
struct IncomingPlan {
  /// A part that could be taken.
  struct Entry {
    /// Its position in the shown list, plus one.
    let number: Int
    let wanted: ReceiverEngine.WantedPart
    let arrival: PartArrival
    /// The classes that are taken unless the person says otherwise.
    let ticked: ArrivalClasses

    var part: Part { wanted.part }
  }

  /// A folder from which items were moved or removed here since they arrived.
  struct Removal {
    /// Its position among the removals of a plan, plus one.
    let number: Int
    /// The number of its part on the wire.
    let part: UInt16
    let removed: RemovedArrivals

    fileprivate var text: String {
      "\(number) \(VisibleText.listed(removed.place)) (\(Figures.count(removed.items, "item")))"
    }

    fileprivate var members: JSONMembers {
      ["number": number, "path": FileName(removed.place), "items": removed.items]
    }
  }

  let entries: [Entry]
  /// The classes that need no question.
  private let permissions: ArrivalClasses
  private let question: ConsentQuestion

  init(_ question: ConsentQuestion, allowing permissions: ArrivalClasses) {
    self.question = question
    self.permissions = permissions
    let parts = question.parts.map { wanted in
      (wanted, wanted.room.arrival ?? PartArrival(name: VisibleText.of(wanted.part.name), roots: [.files]))
    }
    // The list has one class after the other.
    let shown = ArrivalClasses.all.each.flatMap { kind in parts.filter { $0.1.classes.each.first == kind } }
    entries = shown.enumerated().map { index, part in
      let (wanted, arrival) = part
      let ticked = arrival.classes.each.filter { kind in
        if kind != .files, permissions.contains(kind) { return true }
        return question.answers.answer(about: kind, of: wanted.part, arrival) ?? (kind != .secrets)
      }
      return Entry(
        number: index + 1, wanted: wanted, arrival: arrival, ticked: ArrivalClasses(ticked))
    }
  }

  /// Whether it has anything that needs this device's user.
  var isSpecial: Bool { entries.contains { !$0.arrival.classes.isSubset(of: permissions) } }

  /// The least room of its parts.
  var availableBytes: UInt64? { question.parts.compactMap(\.room.availableBytes).min() }

  // MARK: Answers

  /// The classes that are taken of each part, by the part's number on the wire.
  typealias Taking = [UInt16: ArrivalClasses]

  enum Answer: Equatable {
    case no
    case taking(Taking)
  }

  /// The forms of the first answer, for a mistake.
  static let forms =
    "y, all, files or n; behind one of the first three also numbers of the list, such as: y without 2, 5"
  static let secretForms = "y or n; behind y also numbers of the list, such as: y without 2, 5"
  static let removalForms =
    "again or meant; behind either also numbers of the list, such as: again without 2; or nothing, to be asked later"

  /// The first answer, about files and apps' data; nil if the line has another form than a documented
  /// one, or a number that the plan has not.
  func answer(_ line: [UInt8]) -> Answer? {
    let kinds: (Entry) -> ArrivalClasses
    guard let (word, without) = Self.words(line, numbers: Set(entries.map(\.number))) else { return nil }
    switch word {
    case "y", "yes": kinds = { $0.ticked.subtracting(.secrets) }
    case "all": kinds = { $0.arrival.classes.subtracting(.secrets) }
    case "files": kinds = { $0.arrival.classes.intersection(.files) }
    case "", "n", "no": return without.isEmpty ? .no : nil
    default: return nil
    }
    var taking: Taking = [:]
    for entry in entries where !without.contains(entry.number) {
      var taken = kinds(entry)
      // A class that the command line takes needs no second question.
      if word != "files" { taken.formUnion(entry.arrival.classes.intersection(.secrets).intersection(permissions)) }
      taking[entry.wanted.number] = taken
    }
    return .taking(taking)
  }

  /// The parts whose secrets are asked about after the first answer: secrets are apps' data.
  func secrets(after line: [UInt8], _ taking: Taking) -> [Entry] {
    guard !permissions.contains(.secrets), Self.words(line, numbers: Set(entries.map(\.number)))?.word != "files" else {
      return []
    }
    return entries.filter { entry in
      guard let taken = taking[entry.wanted.number], entry.arrival.classes.contains(.secrets) else { return false }
      return !entry.arrival.classes.contains(.apps) || taken.contains(.apps)
    }
  }

  /// The second answer, about the secrets of these parts; nil as above.
  static func secretAnswer(_ line: [UInt8], of entries: [Entry]) -> Set<UInt16>? {
    guard let (word, without) = words(line, numbers: Set(entries.map(\.number))) else { return nil }
    switch word {
    case "y", "yes": return Set(entries.filter { !without.contains($0.number) }.map(\.wanted.number))
    case "", "n", "no": return without.isEmpty ? [] : nil
    default: return nil
    }
  }

  /// The folders of the parts that are taken, of which the user has not said why items are gone.
  func removals(after taking: Taking) -> [Removal] {
    entries.filter { taking[$0.wanted.number].map { !$0.isEmpty } ?? false }
      .flatMap { entry in entry.arrival.removed.map { (entry.wanted.number, $0) } }
      .enumerated().map { Removal(number: $0 + 1, part: $1.0, removed: $1.1) }
  }

  /// The third answer, about these folders: an empty line leaves it open. Nil as above.
  static func removalAnswer(_ line: [UInt8], of removals: [Removal]) -> ReceiverEngine.Removals? {
    guard let (word, without) = words(line, numbers: Set(removals.map(\.number))) else { return nil }
    guard word == "again" || word == "meant" else { return word.isEmpty && without.isEmpty ? [:] : nil }
    return removals.reduce(into: [:]) { said, removal in
      said[removal.part, default: [:]][removal.removed.root] = (word == "again") != without.contains(removal.number)
    }
  }

  /// A word, and the numbers behind `without`; nil if it has another form.
  private static func words(_ line: [UInt8], numbers: Set<Int>) -> (word: String, without: Set<Int>)? {
    let text = String(decoding: line, as: UTF8.self).lowercased()
    let words = text.split(maxSplits: 2, whereSeparator: \.isWhitespace)
    guard words.count > 1 else { return (words.first.map(String.init) ?? "", []) }
    guard words.count == 3, words[1] == "without" else { return nil }
    var without: Set<Int> = []
    for word in words[2].split(separator: ",", omittingEmptySubsequences: false) {
      let digits = word.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
      guard !digits.isEmpty, digits.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(String(digits)),
        numbers.contains(number)
      else { return nil }
      without.insert(number)
    }
    return (String(words[0]), without)
  }

  // MARK: A terminal

  /// The longest name that a narrow terminal has room for, in columns.
  private static let longestName = 16
  /// How many names of a part are shown.
  private static let shownNames = 20

  private static let headings: [ArrivalClasses: String] = [
    .files: "Files:", .apps: "Apps' data, which may hold what programs run:",
    .secrets: "Secrets, and what makes a computer itself, which the next question is about:",
  ]

  /// The plan in full, with all terminal controls made visible: the parts of each class, and the
  /// total against the free space.
  func text(columns: Int) -> String {
    var rows = SizedRows()
    var shown: Set<Int> = []
    for kind in ArrivalClasses.all.each {
      let list = entries.filter { $0.arrival.classes.contains(kind) }
      if list.isEmpty { continue }
      rows.append(.heading(Self.headings[kind] ?? ""))
      for entry in list {
        let isFirst = shown.insert(entry.number).inserted
        let names = entry.names(of: kind)
        let isShort = names.count == 1 && SizedRows.columns(of: names[0]) <= Self.longestName
        rows.append(
          .item(
            mark: Figures.padded(
              entry.ticked.contains(kind) || kind == .secrets ? " \(entry.number) " : "(\(entry.number))",
              to: String(entry.number).count + 2),
            name: isShort ? names[0] : "named below", items: isFirst ? entry.part.items : nil,
            bytes: isFirst ? entry.part.bytes : nil,
            note: isFirst ? entry.note : nil))
        if isShort { continue }
        for name in names.prefix(Self.shownNames) { rows.append(.verbatim(name)) }
        if names.count > Self.shownNames {
          rows.append(.detail("and \(Figures.count(UInt64(names.count - Self.shownNames))) more"))
        }
      }
    }
    if entries.contains(where: { !$0.arrival.classes.subtracting(.secrets).isSubset(of: $0.ticked) }) {
      rows.append(.heading("A number in parentheses was refused before; 'all' takes it now."))
    }
    let total = entries.reduce(Tally()) { $0.adding(Tally(items: $1.part.items ?? 0, bytes: $1.part.bytes ?? 0)) }
    let room = availableBytes.map { "; \(Figures.size($0)) free here" } ?? ""
    let others = question.planned - entries.count
    let planned = Figures.count(UInt64(max(question.planned, entries.count)), "part")
    let count = others > 0 ? "\(entries.count) of \(planned)" : planned
    rows.append(
      .heading("Total: \(count), \(Figures.count(total.items, "item")), \(Figures.size(total.bytes))\(room)"))
    if others > 0 { rows.append(.heading("The others have arrived, or cannot arrive now, as is said afterwards.")) }
    if question.isLater {
      let apps = entries.filter(\.isOfApp).compactMap(\.part.bytes).reduce(0, &+)
      rows.append(.heading(PlanTable.crossing(apps)))
    }
    let sender = DeviceAddress.shown(question.label, question.address)
    return "\n\(sender) wants to send:\n\(rows.text(columns: columns))"
  }

  /// The first question.
  var prompt: String {
    let hasApps = entries.contains { $0.arrival.classes.contains(.apps) && !permissions.contains(.apps) }
    let without = entries.count > 1 ? ", y without 2" : ""
    return "Accept this? [y\(hasApps ? ": also apps' data, files: only files" : "")\(without), N] "
  }

  /// The question about secrets.
  static func secretPrompt(_ entries: [Entry]) -> String {
    let names = entries.map { "\($0.number) \($0.shortName(of: .secrets))" }.joined(separator: "; ")
    return "Take these secrets too: \(names)? [y/N] "
  }

  /// The question about removals.
  static func removalPrompt(_ removals: [Removal]) -> String {
    "Moved or removed here since it arrived: \(removals.map(\.text).joined(separator: ", ")).\n"
      + "Let it arrive again, or was that meant? [again, meant, or Enter to be asked later] "
  }

  // MARK: A program

  /// The third question for a program.
  static func members(of removals: [Removal]) -> JSONMembers { ["folders": removals.map(\.members)] }

  /// The plan for a program.
  var members: JSONMembers {
    [
      "label": question.label, "address": question.address, "parts": entries.map(\.members),
      "availableBytes": availableBytes,
      "refused": question.refused.map { refused in
        ["part": refused.part.name, "items": IfGiven(refused.part.items), "bytes": IfGiven(refused.part.bytes)]
          + refused.fault.members
      },
    ]
  }
}

extension IncomingPlan.Entry {
  /// How many names of a part stand in one line.
  private static let shownNames = 3

  /// This device's own names for what a part has of a class.
  fileprivate func names(of kind: ArrivalClasses) -> [String] {
    guard case .folders = part.contents else { return [arrival.name] }
    let files = zip(part.roots, arrival.roots).filter { $1.contains(.files) }.map(\.0.name)
    return (kind == .files ? files : arrival.places[kind] ?? []).map { VisibleText.listed($0) }
  }

  /// The first of these names.
  fileprivate func shortName(of kind: ArrivalClasses) -> String {
    Figures.list(names(of: kind), first: Self.shownNames)
  }

  fileprivate var isOfApp: Bool {
    switch part.contents {
    case .files, .app: true
    case .folders, .role, .unknown: false
    }
  }

  /// The sender's name of it, as a quotation, and how much it may become.
  fileprivate var note: String? {
    var words = isOfApp ? ["data of an app"] : []
    if VisibleText.of(part.name) != arrival.name {
      words.append("the other device calls it \(VisibleText.quoted(Array(part.name.utf8)))")
    }
    if let most = wanted.room.mostBytes { words.append("may grow to \(Figures.size(most)) at most") }
    return words.isEmpty ? nil : words.joined(separator: "; ")
  }

  var members: JSONMembers {
    let places = arrival.places.sorted { $0.key.rawValue < $1.key.rawValue }
    return ["number": number, "name": arrival.name] + part.members + [
      "classes": arrival.classes.each.map(\.name), "ticked": ticked.each.map(\.name),
      "places": places.map { kind, paths in
        ["class": kind.name, "paths": paths.map { ["path": FileName($0)] as JSONMembers }] as JSONMembers
      },
    ]
  }
}

extension ArrivalClasses {
  /// The name of one class in JSON.
  fileprivate var name: String { self == .files ? "files" : self == .apps ? "apps" : "secrets" }
}
