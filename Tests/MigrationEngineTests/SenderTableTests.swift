import Testing

@testable import MigrationEngine

@Suite struct SenderTableTests {
  @Test func print1() {
    for state in ["idle", "looking up", "asking", "deriving", "pairing", "pairing again", "resuming", "resuming again", "greeting", "preparing", "offered", "comparing", "streaming", "finishing", "recording", "closing done", "closing cut", "counting", "waiting", "coming back", "ending", "over"] {
      print("STATE \(state) = \(SenderTrial.inState(state).engine.phaseName)")
      for (name, event) in SenderTrial.events {
        var trial = SenderTrial.inState(state)
        let before = trial.engine.phaseName
        let actions = trial.take(event)
        if actions.isEmpty, before == trial.engine.phaseName { continue }
        print("| \(name) | \(actions.joined(separator: "; ")) | \(trial.engine.phaseName)")
      }
    }
  }
}
