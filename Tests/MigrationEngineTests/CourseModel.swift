@testable import MigrationEngine

/// A receiver around a course, small enough to take all its steps in every order: some sessions with a data stream each,
/// their offers' judging, and the import.
struct CourseModel: Hashable {
  /// What the receiver could do wrong, each of which the checks must find.
  enum Slip: CaseIterable {
    /// The import begins although a frame is being written.
    case concludesWhileWriting
    /// Nobody is told that an offer that was refused is judged no more.
    case forgetsRefusals
    /// FINISH begins the import of whatever is published, whatever the course says.
    case concludesUnchecked
    /// A newer offer is judged while streams of the older session still write.
    case leavesStreamsWriting
    /// The first session's end fails the transfer, whoever has come since.
    case failsSuperseded
    /// Nobody who waits for the import hears of its end.
    case keepsTheEnd
  }

  /// What besides the ordinary may happen.
  struct Freedom: OptionSet {
    let rawValue: Int
    static let writes = Freedom(rawValue: 1)
    static let cuts = Freedom(rawValue: 2)
    static let failures = Freedom(rawValue: 4)
    static let all: Freedom = [.writes, .cuts, .failures]
  }

  enum Word: Hashable {
    case done
    case failed
  }

  private var course = TransferCourse<Int, String>()
  private(set) var sessions: [SessionModel]
  /// Which session's reception is the transfer's.
  private var slot: Int?
  /// Whose frames are in staging, a bit each; what an earlier run brought is the highest.
  private var content: UInt8 = 0
  /// What the digest of the import covers, while one goes on.
  private var importing: UInt8?
  private var imports = 0
  private var isImported = false
  /// The receiver's last word, and with it its end.
  private(set) var word: Word?

  init(sessions count: Int, recovering: Bool = false) {
    sessions = Array(repeating: SessionModel(), count: count)
    guard recovering else { return }
    course.recover()
    content = 0x80
    importing = content
    imports = 1
  }

  // MARK: Promises

  /// What is promised and not so here; nil when all is well.
  func brokenPromise(_ steps: [Step]) -> String? {
    if imports > 1 { return "an import begins twice" }
    if let importing, importing != content { return "what is imported is not what one session's digest covers" }
    if importing != nil, course.failure != nil { return "what is being imported has failed" }
    if isImported, course.failure != nil || word == .failed { return "what was done fails" }
    if word == .failed, course.failure == nil { return "the last word is a failure, and the transfer has not failed" }
    if word == .done, course.done == nil { return "the last word is done, and the transfer is not" }
    let newest = sessions.last { $0.talk != .absent }
    let isWaiting = newest.map { $0.talk == .offered || $0.talk == .finished } ?? false
    // Every step is taken once, so that who can always go on comes to an end.
    if word == nil, isWaiting, !steps.contains(where: \.isProgress) { return "the newest session gets no answer" }
    return nil
  }

  // MARK: Steps

  /// One thing that can happen.
  struct Step {
    let name: String
    /// Whether it happens by itself, and not only if something comes from outside.
    let isProgress: Bool
    let take: (inout CourseModel) -> Void
  }

  /// Everything that can happen next.
  func steps(_ freedom: Freedom, _ slip: Slip?) -> [Step] {
    guard word == nil else { return [] }
    var steps: [Step] = []
    func add(_ name: String, isProgress: Bool = true, _ take: @escaping (inout CourseModel) -> Void) {
      steps.append(Step(name: name, isProgress: isProgress, take: take))
    }
    for (i, session) in sessions.enumerated() {
      let mayFail = freedom.contains(.failures)
      switch session.talk {
      case .absent:
        if i == 0 || sessions[i - 1].talk != .absent { add("\(i) comes", isProgress: false) { $0.come(i) } }
      case .greeted: add("\(i) offers", isProgress: false) { $0.offer(i) }
      case .receiving: add("\(i) finishes", isProgress: false) { $0.finish(i, slip) }
      case .answered: add("\(i) has its answer", isProgress: false) { $0.receive(i) }
      case .failing where !session.isWriting: add("\(i) ends") { $0.detach(i) }
      case .detached where !isJudging(i): add("\(i) leaves") { $0.leave(i, slip) }
      case .offered, .finished, .failing, .detached, .gone: break
      }
      if session.isTalking {
        if !session.letters.isEmpty { add("\(i) reads") { $0.read(i) } }
        if freedom.contains(.cuts) { add("\(i) is cut", isProgress: false) { $0.fail(i, finally: false) } }
        if mayFail { add("\(i) violates", isProgress: false) { $0.fail(i, finally: true) } }
      }
      switch session.judging {
      case .none: break
      case .asking where mayBegin(i): add("\(i) is judged") { $0.beginJudging(i, slip) }
      case .closing(let older) where older.map({ !sessions[$0].isWriting }) ?? true || slip == .leavesStreamsWriting:
        add("\(i) finds all closed") { $0.sessions[i].judging = .staging }
      case .staging:
        add("\(i) is published") { $0.publish(i) }
        if mayFail { add("\(i) is refused", isProgress: false) { $0.refuse(i, slip) } }
      case .asking, .closing: break
      }
      if freedom.contains(.writes) {
        if session.mayWrite { add("\(i) writes", isProgress: false) { $0.sessions[i].beginWriting() } }
        if session.isWriting { add("\(i) has written") { $0.write(i) } }
      }
    }
    if importing != nil {
      add("the import ends") { $0.endImport(slip, failing: false) }
      if freedom.contains(.failures) {
        add("the import fails", isProgress: false) { $0.endImport(slip, failing: true) }
      }
    }
    return steps
  }

  // MARK: Sessions

  private mutating func come(_ i: Int) {
    for older in 0..<i where sessions[older].number.map({ course.isCurrent($0) }) ?? false {
      sessions[older].letters.append(.superseded)
    }
    sessions[i].number = course.attach()
    sessions[i].talk = .greeted
  }

  private mutating func offer(_ i: Int) {
    sessions[i].talk = .offered
    sessions[i].judging = .asking
  }

  private mutating func read(_ i: Int) {
    let letter = sessions[i].letters.removeFirst()
    switch (letter, sessions[i].talk) {
    case (.admitted, .offered) where course.isReceiving(sessions[i].number!):
      sessions[i].talk = .receiving
      sessions[i].hasJoined = true
    case (.done, .offered), (.done, .finished): sessions[i].talk = .answered
    case (.admitted, _), (.superseded, _): fail(i, finally: true)
    case (.failed, _): fail(i, finally: true)
    case (.done, _): break
    }
  }

  private mutating func fail(_ i: Int, finally isFinal: Bool) {
    sessions[i].talk = .failing
    sessions[i].isFinal = isFinal
    sessions[i].gate = .closed
  }

  private mutating func finish(_ i: Int, _ slip: Slip?) {
    var next = course
    let answer = next.conclude(sessions[i].number!)
    let takes = slip == .concludesUnchecked ? slot : answer == .goOn ? i : nil
    // FINISH while a frame is being written is a violation.
    guard let takes, !sessions[takes].isWriting || slip == .concludesWhileWriting else { return fail(i, finally: true) }
    course = next
    sessions[takes].gate = .shut
    sessions[i].talk = .finished
    importing = sessions[takes].told | (sessions[takes].hasWritten ? 1 << takes : 0)
    imports += 1
  }

  private mutating func receive(_ i: Int) {
    sessions[i].talk = .gone
    word = .done
  }

  private mutating func detach(_ i: Int) {
    course.detach(sessions[i].number!)
    sessions[i].letters = []
    sessions[i].talk = .detached
  }

  private mutating func leave(_ i: Int, _ slip: Slip?) {
    sessions[i].talk = .gone
    let isFinal = sessions[i].isFinal
    if slip == .failsSuperseded, i == 0, isFinal { word = .failed }
    if case .failed = course.leave(sessions[i].number!, failing: isFinal ? "session" : nil) { word = .failed }
  }

  // MARK: Judging

  private func isJudging(_ i: Int) -> Bool { course.isJudging(sessions[i].number!) }

  private func mayBegin(_ i: Int) -> Bool {
    var course = course
    return course.beginJudging(sessions[i].number!) != .wait
  }

  private mutating func beginJudging(_ i: Int, _ slip: Slip?) {
    let answer = course.beginJudging(sessions[i].number!)
    guard answer == .goOn else { return judged(i, answer) }
    sessions[i].judging = .closing(slot)
    if let slot, slip != .leavesStreamsWriting { sessions[slot].gate = .closed }
    slot = nil
  }

  private mutating func publish(_ i: Int) {
    let answer = course.publish(sessions[i].number!)
    guard answer == .goOn else { return judged(i, answer) }
    slot = i
    sessions[i].judging = .none
    sessions[i].told = content
    sessions[i].gate = .open
    // It may have ended meanwhile; then nothing of it is left open.
    if sessions[i].isTalking { sessions[i].letters.append(.admitted) } else { sessions[i].gate = .closed }
  }

  private mutating func refuse(_ i: Int, _ slip: Slip?) {
    if slip != .forgetsRefusals { course.abandonJudging(sessions[i].number!) }
    judged(i, .failed("refused"))
  }

  private mutating func judged(_ i: Int, _ answer: TransferCourse<Int, String>.Answer) {
    sessions[i].judging = .none
    guard sessions[i].isTalking else { return }
    switch answer {
    case .done: sessions[i].letters.append(.done)
    case .failed, .superseded: sessions[i].letters.append(.failed)
    case .goOn, .wait, .importing: break
    }
  }

  // MARK: Writing and importing

  private mutating func write(_ i: Int) {
    sessions[i].isWriting = false
    content |= 1 << i
  }

  private mutating func endImport(_ slip: Slip?, failing isFailing: Bool) {
    importing = nil
    // With a slip there may be an import that the course knows nothing of.
    guard course.isImporting else { return }
    isImported = !isFailing
    let isHeard = isFailing ? course.importFailed("import") : course.imported(1)
    let current = sessions.indices.first { i in sessions[i].number.map { course.isCurrent($0) } ?? false }
    precondition(isHeard == (current != nil), "a session is told of if it is here")
    if let current, slip != .keepsTheEnd { sessions[current].letters.append(isFailing ? .failed : .done) }
    if isFailing, !isHeard { word = .failed }
  }
}
