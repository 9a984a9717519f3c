import Expectations
import Foundation
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

/// The declarations of a bundle as a clip, or as an app with a clip.
@Suite struct ClipBundleTests {
  private static let parent = SampleBundle.parentKey
  private static let clip = SampleBundle.clipKey
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test func `a clip names its app, and an app its clip`() throws {
    let clip = try AppBundle(reading: try SampleBundle.clip().write(in: scratch))
    expect(clip.role, is: .clip(of: "org.example.notes"))
    expect(clip.migrationExtension == nil && clip.allGroups == ["group.notes"])
    expect(
      try AppBundle(reading: try SampleBundle.app().write(in: scratch)).role, is: .app(clip: "org.example.notes.clip"))
    expect(try AppBundle(reading: try SampleBundle().write(in: scratch)).role, is: .app(clip: nil))
  }

  @Test func `an identifier with the form of a team's prefix is valid if it matches the bundle's own`() throws {
    let sample = SampleBundle.clip("ABCDE12345.notes.clip", of: "ABCDE12345.notes")
    expect(try AppBundle(reading: try sample.write(in: scratch)).role, is: .clip(of: "ABCDE12345.notes"))
  }

  /// One way to damage the clip or the app, and the resulting fault.
  struct Fault: Sendable, CustomTestStringConvertible {
    let file: String
    let reason: String
    let hint: String
    let sample: @Sendable () -> SampleBundle

    init(_ file: String, _ reason: String, hint: String, _ sample: @escaping @Sendable () -> SampleBundle) {
      (self.file, self.reason, self.hint, self.sample) = (file, reason, hint, sample)
    }

    /// The entitlements of a clip, or of an app, with another value.
    static func entitlement(
      _ key: String, _ value: @autoclosure @escaping @Sendable () -> Any, _ reason: String, hint: String
    ) -> Fault {
      Fault("Entitlements.plist", "\(key): \(reason)", hint: hint) {
        var sample = key == ClipBundleTests.parent ? SampleBundle.clip() : SampleBundle.app()
        sample.entitlements?[key] = value()
        return sample
      }
    }

    var testDescription: String { "\(file): \(reason)" }
  }

  static let faults: [Fault] =
    [parent, clip].flatMap { key in
      [
        .entitlement(key, "org.example.notes", "it is not an array", hint: "exactly one"),
        .entitlement(key, [String](), "it has 0 entries", hint: "exactly one"),
        .entitlement(key, ["org.example", "org.example.notes.clip"], "it has 2 entries", hint: "exactly one"),
        .entitlement(key, [7], "it contains a value that is not a string", hint: "exactly one"),
        .entitlement(key, ["a/b"], "'a/b' is not an identifier", hint: "An identifier is 1 to 200"),
        .entitlement(
          key, ["$(AppIdentifierPrefix)org.example.notes"],
          "'$(AppIdentifierPrefix)org.example.notes' contains an unexpanded variable",
          hint: "without a variable"),
      ] as [Fault]
    } + [
      .entitlement(
        parent, ["ABCDE12345.org.example.notes"], "'ABCDE12345.org.example.notes' begins with a team's prefix",
        hint: "'org.example.notes'"),
      .entitlement(
        clip, ["ABCDE12345.org.example.notes.clip"], "'ABCDE12345.org.example.notes.clip' begins with a team's prefix",
        hint: "'org.example.notes.clip'"),
      .entitlement(
        parent, ["org.example.other"],
        "'org.example.other' is not the beginning of the clip's own identifier, 'org.example.notes.clip'",
        hint: "its app's identifier, a dot, and further text"),
      .entitlement(
        parent, ["org.example.notes.clip"],
        "'org.example.notes.clip' is not the beginning of the clip's own identifier, 'org.example.notes.clip'",
        hint: "its app's identifier, a dot, and further text"),
      .entitlement(
        clip, ["org.example.notesclip"], "'org.example.notesclip' is not 'org.example.notes.' followed by more",
        hint: "its app's identifier, a dot, and further text"),
      Fault("Entitlements.plist", "\(clip): a clip has no clip of its own", hint: "one of the two") {
        var sample = SampleBundle.clip()
        sample.entitlements?[clip] = ["org.example.notes.clip.clip"]
        return sample
      },
      Fault("Info.plist", "PeerAliases: a clip has none, since its data is not migrated", hint: "Leave the key out") {
        var sample = SampleBundle.clip()
        sample.info["PeerAliases"] = [["BundleIdentifier": "a", "Platform": "b"]]
        return sample
      },
      Fault("Extensions/Migration.appex", "a clip has no extension", hint: "Take it out") {
        var sample = SampleBundle.clip()
        sample.hasExtension = true
        return sample
      },
      Fault("Extensions/Widget.appex", "a clip has no extension", hint: "Take it out") {
        var sample = SampleBundle.clip()
        sample.add("Widget", ["NSExtension": ["NSExtensionPointIdentifier": "com.apple.share-services"]])
        return sample
      },
    ]

  @Test(arguments: faults)
  func `a fault is reported with its file, its key, the reason and a hint`(fault: Fault) throws {
    let path = try fault.sample().write(in: scratch)
    let error = try #require(throws: Failure.self) { try AppBundle(reading: path) }
    expect(error.code, is: .unfitApp)
    expect(error.description, is: "the bundle is invalid: '\(fault.file)': \(fault.reason)")
    expect(error.hint?.contains(fault.hint), is: true, "\(error.hint ?? "none")")
    expect(error.fault.map { String(decoding: $0.file, as: UTF8.self) }, is: fault.file)
    #expect(throws: Failure.self) { try scratch.home().install(path) }
    expect(try scratch.home().list().apps.isEmpty)
  }

  @Test func `a clip, and an app without a migration extension, are not migrated`() throws {
    try scratch.install(.clip())
    var plain = SampleBundle("org.example.plain", groups: [])
    plain.hasExtension = false
    try scratch.install(plain)
    let home = try scratch.home()
    for (identifier, file, hint) in [
      ("org.example.notes.clip", "Entitlements.plist", "Install the full app, 'org.example.notes'"),
      ("org.example.plain", "Extensions", "Install an edition of the app that has one"),
    ] {
      for body in [
        { _ = try AppSource(app: identifier, home: home) { _ in } },
        { _ = try AppImporter(app: identifier, home: home) { _ in } },
      ] as [() throws -> Void] {
        let error = try #require(throws: Failure.self) { try body() }
        expect(error.code, is: .unfitApp)
        expect(error.fault.map { String(decoding: $0.file, as: UTF8.self) }, is: file)
        expect(error.description.contains("\(file)': ") && error.hint?.hasPrefix(hint) == true, "\(error)")
      }
      expect(try home.app(identifier).holder() == nil)
    }
    // If only the clip is installed, the app is missing.
    let error = try #require(throws: Failure.self) { try AppImporter(app: "org.example.notes", home: home) { _ in } }
    expect(error.code == .notInstalled && error.hint?.contains("org.example.notes.clip") == true)
    try scratch.install(.app())
    let replaced = try #require(throws: Failure.self) {
      try AppSource(app: "org.example.notes.clip", home: home) { _ in }
    }
    expect(replaced.code == .unfitApp && replaced.hint?.contains("'org.example.notes'") == true)
  }
}
