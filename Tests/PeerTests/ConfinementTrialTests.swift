import Expectations
import MigrationEngine
import MigrationSystem
import MigrationTransfer
import TestSupport
import Testing

@testable import peer

/// The trial of the confinement, before the process is confined.
@Suite struct ConfinementTrialTests {
  private let scratch: Scratch
  private let directories: [[UInt8]]

  init() throws {
    // One of the rules below names /dev, where memory is.
    scratch = try Scratch(onDisk: true)
    for name in ["one", "two\u{E4}\n"] { try scratch.directory.makeDirectories(name) }
    directories = [scratch.at("one"), scratch.at("two\u{E4}\n")]
  }

  private var isClean: Bool { scratch.names("one").isEmpty && scratch.names("two\u{E4}\n").isEmpty }

  @Test func `the process can write to the directories that the rules name`() {
    expect(ConfinementTrial.refused(within: directories, of: directories), is: [])
    expect(isClean)
  }

  @Test(.enabled(if: Confinement.strength.contains(.files), "the kernel has no Landlock"))
  func `a directory to which the rules do not apply is refused and named`() {
    expect(ConfinementTrial.refused(within: [directories[0]], of: directories), is: [directories[1]])
    expect(ConfinementTrial.refused(within: [directories[1]], of: directories), is: [directories[0]])
    expect(ConfinementTrial.refused(within: [Array("/dev".utf8)], of: directories), is: directories)
    expect(isClean)
  }

  @Test func `a directory that is not writable without the rules does not prevent confinement`() {
    let missing = scratch.at("missing")
    expect(ConfinementTrial.refused(within: [directories[0]], of: [directories[0], missing]), is: [])
    expect(ConfinementTrial.refused(within: [missing], of: [missing]), is: [])
  }

  @Test func `after the trial the process still writes anywhere`() throws {
    _ = ConfinementTrial.refused(within: [directories[0]], of: directories)
    try scratch.directory.makeDirectories("three")
    expect(scratch.exists("three"))
  }

  @Test(.enabled(if: Confinement.strength.contains(.files), "the kernel has no Landlock"))
  func `if the trial fails, the receiver is not confined, and reports that`() throws {
    var confinement = ReceiveOptions.ReceiverConfinement()
    confinement.trial = { [directories] in ConfinementTrial.refused(within: [directories[0]], of: $0) }
    confinement.keep = { _ in
      Issue.record("the process was confined")
      return true
    }
    confinement.leave = { _ in true }
    let events = try confinement.apply(to: directories)
    guard case .unconfined(let reason, let refused) = events.first, events.count == 1 else {
      Issue.record("it does not say so")
      return
    }
    expect(refused, is: [directories[1]])
    expect(reason.contains("Landlock") && reason.contains("/two\u{E4}\\n'"), "\(reason)")
  }

  @Test func `if nothing prevents it, the receiver is confined by a capable kernel`() throws {
    for isKept in [true, false] {
      var confinement = ReceiveOptions.ReceiverConfinement()
      confinement.trial = { ConfinementTrial.refused(within: $0, of: $0) }
      confinement.keep = { _ in isKept }
      confinement.looksUsersUp = isKept
      confinement.leave = { services in
        expect(services, is: isKept)
        return isKept
      }
      let events = try confinement.apply(to: directories)
      switch events.first {
      case .confined(let kept): expect(isKept && kept == directories)
      case .unconfined(_, let refused): expect(!isKept && refused.isEmpty)
      default: Issue.record("it says something else")
      }
      if case .notice(let words) = events.last {
        expect(!isKept && words.contains("programs"))
      } else {
        expect(isKept)
      }
    }
  }
}
