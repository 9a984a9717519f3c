package import MigrationWire

/// The answers of a person about arriving data: whether each class of each part is taken. A class
/// without an answer was never asked about. The options of a run are not answers.
package struct Consent: Equatable, Sendable {
  /// One class of a part, at its places. Another class, or another place, is another subject.
  package struct Subject: Hashable, Sendable {
    /// The part in every plan of its sender.
    package let part: String
    package let kind: ArrivalClasses
    /// For files, the names of the roots.
    package let places: [[UInt8]]

    package init(part: String, kind: ArrivalClasses, places: [[UInt8]]) {
      self.part = part
      self.kind = kind
      self.places = places
    }
  }

  /// A root from which items that had arrived were moved or removed here.
  package struct Removal: Hashable, Sendable {
    /// The part in every plan of its sender.
    package let part: String
    package let root: [UInt8]

    package init(part: String, root: [UInt8]) {
      self.part = part
      self.root = root
    }
  }

  /// The most answers that are kept.
  package static let most = 8192

  package private(set) var answers: [Subject: Bool]
  /// Whether removed items arrive again (true), or were removed on purpose. These answers serve one
  /// transfer: an item that was removed on purpose has a note of its own.
  package private(set) var removals: [Removal: Bool]

  package init(_ answers: [Subject: Bool] = [:], removals: [Removal: Bool] = [:]) {
    self.answers = answers
    self.removals = removals
  }

  /// The answer about a class of a part; nil if there is none.
  package func answer(about kind: ArrivalClasses, of part: Part, _ arrival: PartArrival) -> Bool? {
    answers[Subject(kind, of: part, arrival)]
  }

  /// Notes which classes of several parts a person takes; all others of them are refused. If two parts have the
  /// same subject, a refusal counts.
  package mutating func note(_ answer: [(taken: ArrivalClasses, part: Part, arrival: PartArrival)]) {
    var told: [Subject: Bool] = [:]
    for (taken, part, arrival) in answer {
      for subject in arrival.classes.each.map({ Subject($0, of: part, arrival) }) {
        told[subject] = taken.contains(subject.kind) && told[subject] ?? true
      }
    }
    answers.merge(told) { $1 }
  }

  /// Notes whether the items that were removed from a root arrive again.
  package mutating func note(again isAgain: Bool, _ root: [UInt8], of part: Part) {
    removals[Removal(part: part.lastingName, root: root)] = isAgain
  }

  /// Whether the items that were removed from a root arrive again; nil if there is no answer.
  package func isAgain(_ root: [UInt8], of part: Part) -> Bool? {
    removals[Removal(part: part.lastingName, root: root)]
  }

  /// The classes of a part that are taken: an option stands above an answer, and only files need
  /// neither.
  package func taken(of part: Part, _ arrival: PartArrival, allowing options: ArrivalClasses) -> ArrivalClasses {
    arrival.classes.each.reduce([]) { taken, kind in
      let answer = answer(about: kind, of: part, arrival)
      let isTaken = kind == .files ? answer ?? true : options.contains(kind) || answer ?? false
      return isTaken ? taken.union(kind) : taken
    }
  }

  /// Whether a part has a class that neither an option nor an answer covers.
  package func isOpen(_ part: Part, _ arrival: PartArrival, allowing options: ArrivalClasses) -> Bool {
    arrival.classes.subtracting(options).each.contains { answer(about: $0, of: part, arrival) == nil }
  }

  /// Whether a person takes nothing of a part.
  package func refuses(_ part: Part) -> Bool {
    let own = answers.filter { $0.key.part == part.lastingName }
    return !own.isEmpty && own.values.allSatisfy { !$0 }
  }

  /// These answers, and the earlier answers about other parts and classes.
  package func following(_ earlier: Consent) -> Consent {
    let own = Set(answers.keys.map { Subject(part: $0.part, kind: $0.kind, places: []) })
    let others = earlier.answers.filter { !own.contains(Subject(part: $0.key.part, kind: $0.key.kind, places: [])) }
    guard answers.count + others.count <= Self.most else { return Consent(answers) }
    return Consent(answers.merging(others) { own, _ in own })
  }
}

extension Consent.Subject {
  fileprivate init(_ kind: ArrivalClasses, of part: Part, _ arrival: PartArrival) {
    self.init(
      part: part.lastingName, kind: kind,
      places: kind == .files ? part.roots.map(\.name) : arrival.places[kind] ?? [])
  }
}

extension Part {
  /// The same part in each plan of its sender.
  package var lastingName: String {
    switch contents {
    case .role(let role, _): "role \(role)"
    case .files(let app, _): "app \(app)"
    case .folders: "folders"
    case .app(let app): "extension \(app.bundleIdentifier)"
    case .unknown(let kind, _, _, _): "kind \(kind)"
    }
  }
}

extension ReceiverEngine {
  /// The judgement of a plan, and the classes that are taken of each part, once its user's answers
  /// count.
  func apply(
    _ consent: Consent, to judgement: PlanJudgement, of plan: Plan, allowing options: ArrivalClasses
  ) -> (judgement: PlanJudgement, taken: [UInt16: ArrivalClasses]) {
    var (judged, taken) = (judgement, [UInt16: ArrivalClasses]())
    for (number, result) in judgement {
      guard case .success(var room) = result, let arrival = room.arrival else { continue }
      let part = plan.parts[Int(number)]
      let classes = consent.taken(of: part, arrival, allowing: options)
      taken[number] = classes
      let refused = arrival.roots.indices.filter { arrival.roots[$0].isDisjoint(with: classes) }
      func fault(_ classes: ArrivalClasses) -> Failure {
        let kind = classes.each.first ?? .files
        return consent.answer(about: kind, of: part, arrival) == false
          ? .notTaken : Failure(notAllowed: kind, arrival)
      }
      room.refuse(refused.map { RefusedRoot(root: UInt32($0), fault: fault(arrival.roots[$0])) })
      let isEmpty =
        refused.count == arrival.roots.count || !part.roots.isEmpty && room.without.count == part.roots.count
      judged[number] = isEmpty ? .failure(fault(arrival.classes)) : .success(room)
    }
    return (judged, taken)
  }

  /// Whether a plan has anything that neither an option of this run nor an answer covers.
  func isOpen(
    _ judgement: PlanJudgement, of plan: Plan, _ consent: Consent, allowing options: ArrivalClasses
  ) -> Bool {
    judgement.contains { number, result in
      guard case .success(let room) = result, let arrival = room.arrival else { return false }
      return consent.isOpen(plan.parts[Int(number)], arrival, allowing: options)
    }
  }

  /// The classes of a transfer that the options of this run allow. Once a person has answered in
  /// this run, only files: the person has seen the other classes that the options allow.
  func permissions(of transfer: IncomingTransfer) -> ArrivalClasses {
    transfer.isAnswered ? .files : settings.permissions
  }
}

extension ReceiverEngine.Examination {
  /// Leaves out more roots.
  fileprivate mutating func refuse(_ roots: [ReceiverEngine.RefusedRoot]) {
    let known = Set(without.map(\.root))
    without = (without + roots.filter { !known.contains($0.root) }).sorted { $0.root < $1.root }
  }
}

extension Failure {
  /// The user of this device has neither been asked, nor allowed by an option what a part has.
  fileprivate init(notAllowed kind: ArrivalClasses, _ arrival: PartArrival) {
    let (what, option) =
      kind == .secrets
      ? ("has secrets", "--take-secrets and --take-apps") : ("may hold what programs run", "--take-apps")
    self.init(
      .notAllowed, "\(arrival.name) \(what), and this device's user has not taken it",
      hint: DataHint.allowing(option),
      for: kind == .secrets ? .secret : .mayRun)
  }
}
