import Expectations
import MigrationWire
import Testing

@testable import MigrationEngine

/// What is taken of a plan: by options, by a person's answers, and else only files.
@Suite struct ArrivalConsentTests {
  private typealias Script = ReceiverScript
  private static let roots = [".bashrc", ".ssh", "notes"].map { Root(kind: .directory, name: Array($0.utf8)) }
  private static let plan = Script.plan(roots: roots)
  private static let part = plan.parts[0]
  private let number = SessionNumber(1)

  private static func arrival(_ place: String = ".bashrc") -> PartArrival {
    PartArrival(
      name: "notes", roots: [.apps, .secrets, .files],
      places: [.apps: [Array(place.utf8)], .secrets: [Array(".ssh".utf8)]])
  }

  private static func consent(_ taken: ArrivalClasses?, _ place: String = ".bashrc") -> Consent {
    var consent = Consent()
    if let taken { consent.note([(taken, part, arrival(place))]) }
    return consent
  }

  struct Case: Sendable {
    var options: ArrivalClasses = .files
    var answer: ArrivalClasses?
    let taken: ArrivalClasses
    let isOpen: Bool
  }

  @Test(arguments: [
    Case(taken: .files, isOpen: true), Case(options: [.files, .apps], taken: [.files, .apps], isOpen: true),
    Case(options: .all, taken: .all, isOpen: false), Case(answer: .files, taken: .files, isOpen: false),
    Case(answer: [.files, .apps], taken: [.files, .apps], isOpen: false),
    Case(answer: .all, taken: .all, isOpen: false),
    Case(answer: [], taken: [], isOpen: false), Case(answer: .apps, taken: .apps, isOpen: false),
    // An option of this run stands above an answer; files have none.
    Case(options: [.files, .apps], answer: .files, taken: [.files, .apps], isOpen: false),
    Case(options: .all, answer: [], taken: [.apps, .secrets], isOpen: false),
  ])
  func `options and answers decide, and files need neither`(_ example: Case) {
    let consent = Self.consent(example.answer)
    expect(consent.taken(of: Self.part, Self.arrival(), allowing: example.options), is: example.taken)
    expect(consent.isOpen(Self.part, Self.arrival(), allowing: example.options), is: example.isOpen)
  }

  @Test func `an answer covers no other place, class or part`() {
    let consent = Self.consent(.all)
    expect(consent.taken(of: Self.part, Self.arrival(".profile"), allowing: .files), is: [.files, .secrets])
    let app = Part(.files(of: "x", Self.roots), name: "x")
    expect(consent.isOpen(app, Self.arrival(), allowing: .files))
    let graver = PartArrival(
      name: "notes", roots: [.secrets], places: [.secrets: [Array(".bashrc".utf8), Array(".ssh".utf8)]])
    expect(consent.taken(of: Self.part, graver, allowing: .files), is: [])
    expect(!consent.refuses(Self.part) && Self.consent([]).refuses(Self.part) && !consent.refuses(app))
  }

  @Test func `newer answers stand in the place of earlier ones about the same class of a part`() {
    let (old, new) = (Self.consent([.files, .apps]), Self.consent(.files, ".profile"))
    var other = Consent()
    let app = Part(.files(of: "x", Self.roots), name: "x")
    other.note([(.apps, app, PartArrival(name: "X", roots: [.apps]))])
    let both = new.following(old.following(other))
    expect(both.answer(about: .apps, of: app, PartArrival(name: "X", roots: [.apps])), is: true)
    expect(both.answer(about: .apps, of: Self.part, Self.arrival()) == nil)
    expect(both.answer(about: .apps, of: Self.part, Self.arrival(".profile")), is: false)
  }

  // MARK: In an engine

  private func planJudged(_ consent: Consent = Consent(), session: UInt64 = 1, isWhole: Bool = true)
    -> ReceiverEngine.Event
  {
    let arrival = isWhole ? Self.arrival() : PartArrival(name: "x", roots: [.apps, .secrets, .apps])
    let room = ReceiverEngine.Examination(availableBytes: nil, arrival: arrival)
    return .planJudged(SessionNumber(session), .success([0: .success(room)]), session: Script.session, consent: consent)
  }

  private func script(asks: Bool, _ options: ArrivalClasses = .files) -> Script {
    var settings = Script.settings()
    (settings.asksConsent, settings.permissions) = (asks, options)
    var script = Script.paired(settings)
    script.plan(Self.plan)
    return script
  }

  @Test
  func `without a person, roots that are not files are left out and named, and what is left of a part is staged so`() {
    var script = script(asks: false)
    _ = script.feed(planJudged())
    let said = script.feed(.recorded(number, nil))
    expect(said.first, is: "say 1 verdict 100 900 32M 16: taken without 2")
    expect(said.count(where: { $0.contains("not taken it") || $0.contains("has not taken") }), is: 2)
    expect(script.engine.transfers[0].taken, is: [0: .files])
    expect(script.engine.transfers[0].contents(ofPart: 0)?.roots, is: [Self.roots[2]])
  }

  @Test func `a person who was shown what the options allow has the last word in this run`() {
    var script = script(asks: true, .all)
    _ = script.feed(planJudged())
    _ = script.feed(.answered(true, taking: [0: .files]))
    expect(script.engine.transfers[0].taken, is: [0: .files])
    expect(script.feed(.recorded(number, nil)).first, is: "say 1 verdict 100 900 32M 16: taken without 2")
  }

  @Test func `of two parts with one subject, a refusal counts`() {
    for answers in [[ArrivalClasses.all, []], [[], .all]] {
      var consent = Consent()
      consent.note(answers.map { ($0, Self.part, Self.arrival()) })
      expect(consent.taken(of: Self.part, Self.arrival(), allowing: .files), is: [])
    }
  }

  @Test func `a plan of which nothing is taken is refused, and not recorded`() {
    var script = script(asks: false)
    expect(script.feed(planJudged(isWhole: false)).contains("say 1 verdict 100 900 32M 16: refused 5"))
    expect(!script.engine.transfers[0].isRecorded)
  }

  @Test
  func `a person's answers are recorded, hold in each session, and are asked for again only where they do not reach`() {
    var script = script(asks: true)
    expect(script.feed(planJudged()).last?.hasPrefix("ask consent"), is: true)
    _ = script.feed(.answered(true, taking: [0: [.files, .apps]]))
    let expected = Self.consent([.files, .apps])
    expect(script.engine.transfers[0].taken, is: [0: [.files, .apps]])
    expect(script.feed(.recorded(number, nil)).first, is: "say 1 verdict 100 900 32M 16: taken without 1")
    _ = script.feed(.broke(Script.id(1), Script.cut))
    _ = script.feed(.closed(Script.id(1)))
    script.resume(2, key: 1)
    var changed = script
    for (known, isAsked) in [(expected, false), (Consent(), true)] {
      var again = changed
      again.plan(Script.plan(100, roots: Self.roots), on: 2)
      expect(again.feed(planJudged(known, session: 2)).last?.hasPrefix("ask consent"), is: isAsked)
    }
    changed.plan(Script.plan(100, roots: Self.roots), on: 2)
    _ = changed.feed(planJudged(session: 2))
    _ = changed.feed(.answered(true, taking: [:]))
    expect(changed.feed(.recorded(SessionNumber(2), nil)).first, is: "say 2 verdict 100 900 32M 16: refused 5")
  }
}
