import Testing

@testable import MigrationEngine

private typealias Course = TransferCourse<Int, String>

@Suite struct TransferCourseTests {
  // MARK: One session

  @Test func `one session is judged, published, concluded and told of the end`() {
    var course = Course()
    let session = course.attach()
    #expect(course.beginJudging(session) == .goOn)
    #expect(course.isJudging(session) && !course.isReceiving(session))
    #expect(course.publish(session) == .goOn)
    #expect(!course.isJudging(session) && course.isReceiving(session))
    #expect(course.conclude(session) == .goOn)
    #expect(course.isImporting && !course.isReceiving(session))
    #expect(course.imported(7) == true)
    #expect(course.done == 7)
    #expect(course.leave(session, failing: "too late") == .done(7))
    #expect(course.failure == nil)
  }

  @Test func `a session that fails the transfer fails it for all that come`() {
    var course = Course()
    let first = course.attach()
    course.detach(first)
    #expect(course.leave(first, failing: "a violation") == .failed("a violation"))
    let second = course.attach()
    #expect(course.beginJudging(second) == .failed("a violation"))
  }

  @Test func `a session that is lost leaves the transfer to the next one`() {
    var course = Course()
    let first = course.attach()
    #expect(course.beginJudging(first) == .goOn)
    course.detach(first)
    #expect(course.publish(first) == .superseded)
    #expect(course.leave(first, failing: nil) == .goOn)
    let second = course.attach()
    #expect(course.beginJudging(second) == .goOn)
  }

  // MARK: Two sessions

  @Test func `a session that was superseded neither publishes nor concludes nor fails`() {
    var course = Course()
    let older = course.attach()
    #expect(course.beginJudging(older) == .goOn)
    #expect(course.publish(older) == .goOn)
    let newer = course.attach()
    #expect(!course.isReceiving(older))
    #expect(course.conclude(older) == .superseded)
    #expect(course.beginJudging(older) == .superseded)
    #expect(course.leave(older, failing: "a violation") == .superseded)
    #expect(course.isReceiving && course.isCurrent(newer))
  }

  @Test func `one offer is judged at a time`() {
    var course = Course()
    let older = course.attach()
    #expect(course.beginJudging(older) == .goOn)
    let newer = course.attach()
    #expect(course.beginJudging(newer) == .wait)
    #expect(course.publish(older) == .superseded)
    #expect(course.beginJudging(newer) == .goOn)
    course.abandonJudging(older)
    #expect(course.isJudging(newer))
    course.abandonJudging(newer)
    #expect(!course.isJudging(newer))
  }

  @Test func `whoever comes during the import waits for its end, and is told of it`() {
    var course = Course()
    let older = course.attach()
    #expect(course.beginJudging(older) == .goOn)
    #expect(course.publish(older) == .goOn)
    #expect(course.conclude(older) == .goOn)
    let newer = course.attach()
    #expect(course.beginJudging(newer) == .importing)
    #expect(course.leave(older, failing: "a violation") == .superseded)
    #expect(course.importFailed("no space") == true)
    #expect(course.beginJudging(newer) == .failed("no space"))
  }

  @Test func `a receiver that turns to another transfer has no session of this one`() {
    var course = Course()
    let session = course.attach()
    #expect(course.beginJudging(session) == .goOn)
    #expect(course.publish(session) == .goOn)
    course.fence()
    #expect(course.conclude(session) == .superseded)
    #expect(course.leave(session, failing: "a violation") == .superseded)
    #expect(course.isReceiving)
  }

  // MARK: Before the first session

  @Test func `an import of an earlier run is told of to who comes`() {
    var course = Course()
    course.recover()
    let session = course.attach()
    #expect(course.beginJudging(session) == .importing)
    #expect(course.imported(1) == true)
    #expect(course.beginJudging(session) == .done(1))
    course.detach(session)
    #expect(course.leave(session, failing: nil) == .done(1))
    var finished = Course(done: 2)
    let late = finished.attach()
    #expect(finished.beginJudging(late) == .done(2))
  }

  // MARK: Every order

  /// Takes all steps in every order; how many states there are, and a way to one in which a promise is broken.
  private func explore(
    _ start: CourseModel, _ freedom: CourseModel.Freedom, _ slip: CourseModel.Slip? = nil
  ) -> (states: Int, words: Set<CourseModel.Word?>, broken: [String]?) {
    var seen: Set<CourseModel> = [start]
    var words: Set<CourseModel.Word?> = []
    /// What is to be looked at, each with the way there.
    var ahead: [(model: CourseModel, origin: Int, step: String)] = [(start, 0, "")]
    var next = 0
    while next < ahead.count {
      let model = ahead[next].model
      let steps = model.steps(freedom, slip)
      if let broken = model.brokenPromise(steps) {
        var way = [broken]
        var place = next
        while place > 0 {
          way.insert(ahead[place].step, at: 0)
          place = ahead[place].origin
        }
        return (seen.count, words, way)
      }
      if steps.isEmpty { words.insert(model.word) }
      for step in steps {
        var after = model
        step.take(&after)
        if seen.insert(after).inserted { ahead.append((after, next, step.name)) }
      }
      next += 1
    }
    return (seen.count, words, nil)
  }

  @Test(arguments: [false, true])
  func `in every order of two sessions' steps all promises are kept`(recovering: Bool) {
    let (states, words, broken) = explore(CourseModel(sessions: 2, recovering: recovering), .all)
    #expect(broken == nil)
    #expect(words.isSuperset(of: [.done, .failed]))
    #expect(states > 1000)
  }

  @Test(arguments: [[.writes, .cuts], CourseModel.Freedom.failures])
  func `in every order of three sessions' steps all promises are kept`(freedom: CourseModel.Freedom) {
    let (states, _, broken) = explore(CourseModel(sessions: 3), freedom)
    #expect(broken == nil)
    #expect(states > 1000)
  }

  @Test(arguments: CourseModel.Slip.allCases)
  func `a receiver that does not do what the course says breaks a promise`(slip: CourseModel.Slip) {
    #expect(explore(CourseModel(sessions: 2), .all, slip).broken != nil)
  }
}
