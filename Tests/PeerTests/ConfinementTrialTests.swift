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
  private let trial: ConfinementTrial
  private let directories: [[UInt8]]

  init() throws {
    // One of the rules below names /dev, where memory is.
    scratch = try Scratch(onDisk: true)
    for name in ["one", "two\u{E4}\n"] { try scratch.directory.makeDirectories(name) }
    directories = [scratch.at("one"), scratch.at("two\u{E4}\n")]
    trial = ConfinementTrial(executable: try builtProgram("peer"))
  }

  private var isClean: Bool { scratch.names("one").isEmpty && scratch.names("two\u{E4}\n").isEmpty }

  @Test func `the process can write to the directories that the rules name`() {
    expect(trial.outcome(within: directories, in: directories), is: .works)
    expect(isClean)
  }

  @Test(.enabled(if: Confinement.strength.contains(.files), "the kernel has no Landlock"))
  func `a directory to which the rules do not apply is refused and named`() {
    expect(trial.outcome(within: [directories[0]], in: directories), is: .refuses([directories[1]]))
    expect(trial.outcome(within: [directories[1]], in: directories), is: .refuses([directories[0]]))
    expect(trial.outcome(within: [Array("/dev".utf8)], in: directories), is: .refuses(directories))
    expect(isClean)
  }

  @Test func `a directory that is not writable without the rules does not prevent confinement`() {
    let missing = scratch.at("missing")
    expect(trial.outcome(within: [directories[0]], in: [directories[0], missing]), is: .works)
    expect(trial.outcome(within: [missing], in: [missing]), is: .works)
  }

  @Test func `a trial that does not end is ended, and a trial that cannot begin has no result`() throws {
    scratch.write("slow", Array("#!/bin/sh\nexec sleep 600\n".utf8))
    try scratch.directory.setMode("slow", 0o700)
    let slow = ConfinementTrial(executable: scratch.path("slow"), patience: .milliseconds(100))
    expect(slow.outcome(within: [directories[0]], in: directories), is: .works)
    let none = ConfinementTrial(executable: scratch.path("none"))
    expect(none.outcome(within: [directories[0]], in: directories), is: .works)
  }

  @Test(.enabled(if: Confinement.strength.contains(.files), "the kernel has no Landlock"))
  func `if the trial fails, the receiver is not confined, and reports that`() throws {
    var confinement = ReceiveOptions.ReceiverConfinement()
    confinement.trial = { [trial, directories] in trial.outcome(within: [directories[0]], in: $0) }
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
      confinement.trial = { [trial] in trial.outcome(within: $0, in: $0) }
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
