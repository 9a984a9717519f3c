import Expectations
import Glibc
import MigrationSystem
import Testing

@testable import MigrationArchive

/// The steps by which an item gets a name that must be free, for every possible answer of a file
/// system.
@Suite struct PlacingTests {
  /// A file system and another program, reduced to one name.
  private struct Ground {
    var promises = false
    var links = true
    var replacesDirectories = true
    /// The entry with the name: none, this import's empty entry, another program's, or the item to
    /// be placed.
    var name: Entry?
    var isStaged = true
    enum Entry: Equatable { case placeholder, stranger, placed }

    /// Performs a step as a kernel would, and returns whether another program's entry was removed.
    mutating func answer(_ step: FolderImport.Placing.Step, isDirectory: Bool) -> (
      answer: FolderImport.Placing.Answer, harms: Bool
    ) {
      func failed(_ errno: CInt) -> FolderImport.Placing.Answer { .failed(SystemError(errno: errno, operation: "try")) }
      switch step {
      case .rename:
        guard promises else { return (failed(EINVAL), false) }
        guard name == nil else { return (failed(EEXIST), false) }
        (name, isStaged) = (.placed, false)
      case .link:
        guard links else { return (failed(EPERM), false) }
        guard name == nil else { return (failed(EEXIST), false) }
        name = .placed
      case .unstage: isStaged = false
      case .placeholder:
        guard name == nil else { return (failed(EEXIST), false) }
        name = .placeholder
      case .examinePlaceholder: return (name == .placeholder ? .done : .no, false)
      case .examineName: return (name == nil ? .done : .no, false)
      case .renameOverPlaceholder, .renameIntoFree:
        if isDirectory, name == .stranger { return (failed(ENOTEMPTY), false) }
        if isDirectory, name == .placeholder, !replacesDirectories { return (failed(EEXIST), false) }
        let harms = name == .stranger
        (name, isStaged) = (.placed, false)
        return (.done, harms)
      case .releasePlaceholder, .giveUp:
        if isDirectory, name == .stranger { return (failed(ENOTEMPTY), false) }
        let harms = name == .stranger
        name = nil
        return (.done, harms)
      case .announce, .withdraw, .ended: break
      }
      return (.done, false)
    }
  }

  /// Performs the steps; another program takes the name, or fills the placeholder, before the step
  /// with a given number.
  private func run(
    _ ground: Ground, isDirectory: Bool, strangerAt: Int
  ) -> (steps: [FolderImport.Placing.Step], ground: Ground, harms: Bool) {
    var (ground, steps, harms) = (ground, [FolderImport.Placing.Step](), false)
    var placing = FolderImport.Placing(isDirectory: isDirectory, asksKernel: true)
    while true {
      if case .ended = placing.step { return (steps + [placing.step], ground, harms) }
      // A file's placeholder that is written to after the check is the window that the documents name.
      let isWindow =
        !isDirectory && [.renameOverPlaceholder, .releasePlaceholder, .renameIntoFree].contains(placing.step)
      if steps.count == strangerAt, ground.name == nil || ground.name == .placeholder, !isWindow {
        ground.name = .stranger
      }
      steps.append(placing.step)
      let result = ground.answer(placing.step, isDirectory: isDirectory)
      harms = harms || result.harms
      placing.take(result.answer)
      if steps.count > 20 { return (steps, ground, true) }
    }
  }

  private static let grounds = [
    Ground(promises: true), Ground(), Ground(links: false), Ground(replacesDirectories: false),
  ]

  @Test(arguments: 0..<grounds.count, [false, true])
  func `the item to be placed is in exactly one place in the end, on every file system`(
    _ index: Int, _ isDirectory: Bool
  ) {
    let (steps, ground, harms) = run(Self.grounds[index], isDirectory: isDirectory, strangerAt: .max)
    expect(steps.last == .ended(.placed) && !harms)
    expect(ground.name == .placed && !ground.isStaged)
    // The journal record comes before every entry that a crash could leave.
    let first = steps.firstIndex { [.link, .placeholder].contains($0) }
    expect(first == nil || steps.firstIndex(of: .announce)! < first!)
  }

  @Test(arguments: 0..<grounds.count, [false, true])
  func `another program's entry is kept at any step, and nothing is lost`(_ index: Int, _ isDirectory: Bool) {
    for strangerAt in 0..<10 {
      let (steps, ground, harms) = run(Self.grounds[index], isDirectory: isDirectory, strangerAt: strangerAt)
      expect(!harms, "before step \(strangerAt) of \(steps)")
      switch ground.name {
      case .placed?: expect(steps.last == .ended(.placed) && !ground.isStaged)
      case .stranger?:
        expect(steps.last == .ended(.taken) && ground.isStaged)
        // If the entry is another program's after the journal record, the record is withdrawn.
        expect(!steps.contains(.announce) || steps.contains(.withdraw), "\(steps)")
      case .placeholder?, nil: Issue.record("\(steps)")
      }
    }
  }

  @Test func `a failing disk ends the placing, and the placeholder is removed`() {
    var placing = FolderImport.Placing(isDirectory: false, asksKernel: false)
    let broken = SystemError(errno: EIO, operation: "try")
    for _ in 0..<1 { placing.take(.done) }
    placing.take(.failed(SystemError(errno: EPERM, operation: "link")))
    expect(placing.step, is: .placeholder)
    placing.take(.done)
    placing.take(.failed(broken))
    expect(placing.step, is: .giveUp(broken))
    placing.take(.done)
    expect(placing.step, is: .ended(.failed(broken)))
    for step in [
      FolderImport.Placing(isDirectory: true, asksKernel: true),
      FolderImport.Placing(isDirectory: true, asksKernel: false),
    ] {
      var placing = step
      placing.take(.failed(broken))
      expect(placing.step, is: .ended(.failed(broken)))
    }
  }
}
