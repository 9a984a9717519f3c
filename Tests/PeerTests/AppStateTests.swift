import Expectations
import MigrationEngine
import MigrationTransfer
import MigrationWire
import Testing

@testable import MigrationHost
@testable import peer

@Suite struct AppStateTests {
  private static let transfer = String(repeating: "a", count: 32)
  private let failure = ImportRecord(
    failure: ReportedError(domain: "Notes", code: -7, text: "no room\u{1B}[2J"), transfer: Self.transfer, date: 1_000)
  private let success = ImportRecord(failure: nil, transfer: Self.transfer, date: 1_000)
  private let damaged = AppHome.Damaged(
    identifier: "org.example.broken", error: Failure(.unfitApp, "the bundle is invalid"))

  private func state(
    _ record: ImportRecord? = nil, isUnfinished: Bool = false, holder: AppLock.Holder? = nil
  ) -> AppState {
    AppState(
      identifier: "org.example.notes", version: "1.0", name: "No\u{1B}tes", record: record,
      hasUnfinishedImport: isUnfinished, holder: holder)
  }

  @Test func `the report for a person is a table`() {
    let states = [
      state(), state(success, holder: AppLock.Holder(use: .running, process: 47)), state(failure),
      state(isUnfinished: true), state(isUnfinished: true, holder: AppLock.Holder(use: .migrating, process: 0)),
    ]
    let text = AppState.table(states, [damaged], now: 1_000 + 7_200)
    expect(
      text.standardOutput,
      is: """
        ID                 VERSION  NAME         LAST IMPORT            NOW
        org.example.notes  1.0      No\\u{1b}tes  none
        org.example.notes  1.0      No\\u{1b}tes  succeeded 2 hours ago  running (process 47)
        org.example.notes  1.0      No\\u{1b}tes  failed 2 hours ago
        org.example.notes  1.0      No\\u{1b}tes  interrupted
        org.example.notes  1.0      No\\u{1b}tes  running                being migrated

        """)
    expect(text.standardError, is: "peer: note: org.example.broken: the bundle is invalid\n")
  }

  @Test func `the state of a clip names its app, for persons and programs`() {
    var clip = state()
    clip.role = .clip(of: "org.example.notes")
    clip.hasExtension = false
    let text = AppState.table([state(), clip], [], now: 0).standardOutput
    expect(
      text,
      is: """
        ID                 VERSION  NAME         KIND                       LAST IMPORT  NOW
        org.example.notes  1.0      No\\u{1b}tes  app                        none
        org.example.notes  1.0      No\\u{1b}tes  clip of org.example.notes  none

        """)
    expect(
      AppState.lines([clip], []).standardOutput.hasSuffix(
        #""hasExtension":false,"clip":null,"clipOf":"org.example.notes"}"# + "\n"))
    expect(
      clip.statusText(cleared: false).standardOutput,
      is: """
        This is the clip of org.example.notes; the app replaces it when it is installed.
        No import is recorded.

        """)
    var app = state()
    app.hasExtension = false
    expect(app.statusText(cleared: false).standardOutput.hasPrefix("The app has no migration extension: "))
  }

  @Test func `an empty list is a sentence for a person and nothing for a program`() {
    expect(AppState.table([], [], now: 0), is: Rendering(standardError: "No apps are installed.\n"))
    expect(AppState.lines([], []), is: Rendering())
  }

  @Test func `the report for a program has an object per line`() {
    let states = [state(), state(failure, isUnfinished: true, holder: AppLock.Holder(use: .migrating, process: 47))]
    let lines = AppState.lines(states, [damaged]).standardOutput.split(separator: "\n").map(String.init)
    let head = #"{"event":"app","id":"org.example.notes","version":"1.0","name":"No\u001btes","store":"","lastImport":"#
    expect(
      lines,
      is: [
        head + #""none","date":null,"transfer":null,"failure":null,"unfinished":null,"use":null,"process":null,"#
          + #""hasExtension":true,"clip":null,"clipOf":null}"#,
        head + #""failed","date":"1970-01-01T00:16:40Z","transfer":"\#(Self.transfer)","#
          + #""failure":{"domain":"Notes","code":-7,"message":"no room\u001b[2J"},"#
          + #""unfinished":"goingOn","use":"migrating","process":47,"#
          + #""hasExtension":true,"clip":null,"clipOf":null}"#,
        #"{"event":"damaged","id":"org.example.broken","message":"the bundle is invalid"}"#,
      ])
  }

  @Test func `the status consists of sentences`() {
    expect(state().statusText(cleared: false).standardOutput, is: "No import is recorded.\n")
    expect(
      state(success).statusText(cleared: true),
      is: Rendering(
        standardError: "The status is cleared.\n",
        standardOutput: "The last import succeeded (1970-01-01T00:16:40Z).\n"))
    expect(
      state(failure, isUnfinished: true).statusText(cleared: false).standardOutput,
      is: """
        The last import failed (1970-01-01T00:16:40Z): no room\\u{1b}[2J (Notes -7).
        An import was interrupted. It is undone when the app is started, or before the next import.

        """)
    // There was nothing to clear.
    expect(state().statusText(cleared: true).standardError.isEmpty)
  }

  @Test func `the status is one object`() {
    let line = state(success).statusLine(cleared: true).standardOutput
    expect(line.hasPrefix(#"{"event":"appStatus","id":"org.example.notes","#))
    expect(line.hasSuffix(#""clipOf":null,"cleared":true}"# + "\n"))
  }
}
