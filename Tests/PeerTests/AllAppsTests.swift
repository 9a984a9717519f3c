import Expectations
import MigrationApps
import MigrationWire
import Testing

@testable import peer

@Suite struct AllAppsTests {
  private let apps = AllApps(
    installed: [AppState(identifier: "org.example.notes", version: "1.0", name: "Notes")], damaged: [],
    files: [
      (
        MovableApp(.described, identifier: "openssh", name: "OpenSSH", hasSecrets: true),
        EntrySize(Tally(items: 3, bytes: 1500), allocated: 4096)
      ),
      (
        MovableApp(
          .flatpak, identifier: "org.signal.Signal", name: "Sig\u{7}nal", isIdentity: true, inUse: "process 7"), nil
      ),
    ], notes: ["the description 'x' is not used: line 3: it has no '='"])

  @Test func `the list has the apps of every kind, with the size and the use of their data`() {
    expect(
      apps.table.standardOutput,
      is: """
        ID                 KIND       VERSION  NAME         SIZE    NOW
        org.example.notes  extension  1.0      Notes
        openssh            described           OpenSSH      1.5 kB
        org.signal.Signal  flatpak             Sig\\u{7}nal          in use (process 7)

        """)
    expect(apps.table.standardError, is: "peer: note: the description 'x' is not used: line 3: it has no '='\n")
  }

  @Test func `a program gets a line for each app`() {
    let lines = apps.lines.standardOutput.split(separator: "\n")
    expect(lines.count, is: 3)
    expect(lines[0].hasPrefix(#"{"event":"app","id":"org.example.notes""#))
    expect(
      lines[1],
      is: #"{"event":"fileApp","id":"openssh","name":"OpenSSH","kind":"described","bytes":1500,"inUse":null,"#
        + #""secret":true,"identity":false}"#)
    expect(
      lines[2].hasSuffix(#""bytes":null,"inUse":"process 7","secret":false,"identity":true}"#))
  }
}
