import Expectations
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationApps

/// The folder with the descriptions that are installed.
private let folder = Array(
  (#filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    + "/Sources/Computer/MigrationApps/Descriptions")
    .utf8)

/// The owner of the clone, which a test may read as another user.
private let owner = sequence(first: folder) { $0.count > 1 ? FileContent.split($0).directory : nil }
  .compactMap { try? Directory.status(of: $0).owner }.first { $0 != 0 }

private let shipped = AppCatalogue(folders: [folder], trusting: Trust(owner ?? 0))

@Suite struct ShippedDescriptionTests {
  @Test func `every shipped description is read, and says where its facts come from`() throws {
    expect(shipped.mistakes, is: [])
    expect(shipped.descriptions.count >= 30)
    for description in shipped.descriptions.values {
      let text = String(decoding: try FileContent.read(description.file, limit: AppDescription.longest), as: UTF8.self)
      expect(text.hasPrefix(description.settings.isEmpty ? "# Places: " : "# Keys: "), "\(description.identifier)")
    }
  }

  @Test func `no two shipped descriptions take the same place`() {
    var owners: [[UInt8]: String] = [:]
    for description in shipped.descriptions.values {
      for root in description.roots {
        for place in root.places {
          let owner = owners.updateValue(description.identifier, forKey: place.path)
          expect(owner == nil, "\(description.identifier) and \(owner ?? "")")
        }
      }
    }
  }

  @Test func `secrets and identities are named as what they are`() {
    func identifiers(_ isMeant: (AppDescription) -> Bool) -> Set<String> {
      Set(shipped.descriptions.values.filter(isMeant).map(\.identifier))
    }
    expect(identifiers(\.isIdentity), is: ["kdeconnect", "org.signal.Signal", "org.telegram.desktop", "syncthing"])
    expect(
      identifiers(\.hasSecrets),
      is: [
        "com.google.Chrome", "git-credentials", "gnome-keyring", "gnupg", "kdeconnect", "kwallet", "openssh",
        "org.chromium.Chromium", "org.filezillaproject.Filezilla", "org.mozilla.Thunderbird", "org.mozilla.firefox",
        "org.signal.Signal", "org.telegram.desktop", "pidgin", "syncthing",
      ])
  }

  @Test func `the document has a row for each shipped description`() throws {
    let folder = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    let document = try FileContent.read(Array("\(folder)/docs/DescribingApps.md".utf8), limit: 1 << 20)
    let rows = String(decoding: document, as: UTF8.self).split(separator: "\n")
    for app in shipped.descriptions.values {
      let places =
        app.roots.map { "`~/\(String(decoding: $0.places[0].path, as: UTF8.self))`" }
        + app.settings.map { "`\($0.path)`" }
      let left = app.exclusions.map { "`\(String(decoding: $0, as: UTF8.self))`" }
      let words = [
        app.hasSecrets ? "secret" : nil,
        app.isIdentity ? "identity" : nil,
      ].compactMap { $0 }
      let cells = [places, left, words].map { $0.isEmpty ? "–" : $0.joined(separator: ", ") }
      let row = "| \(app.name) | \(cells.joined(separator: " | ")) |"
      expect(rows.contains { $0 == row }, "\(row)")
    }
  }

  /// A home in which an app has all its places of one packaging: a folder with a file each, which is
  /// named after the key; and one file that the description's first pattern leaves out.
  private func makeHome(_ app: AppDescription, _ packaging: AppDescription.Packaging) throws -> (Scratch, Int) {
    let scratch = try Scratch()
    var keys: Set<String> = []
    for root in app.roots {
      guard let place = root.places.first(where: { $0.packaging == packaging }) else { continue }
      scratch.write(String(decoding: place.path, as: UTF8.self) + "/kept/\(root.key)", root.key)
      keys.insert(root.key)
    }
    return (scratch, keys.count)
  }

  @Test(arguments: shipped.descriptions.values.filter(\.settings.isEmpty).map(\.identifier).sorted())
  func `a small home with what a description names arrives as it says`(_ identifier: String) throws {
    let app = try #require(shipped.descriptions[identifier])
    for packaging in app.packagings {
      let (scratch, count) = try makeHome(app, packaging)
      var mistakes: [DescriptionError] = []
      let found = shipped.apps(in: scratch.directory, mistakes: &mistakes)
      expect(mistakes, is: [])
      expect(found.map(\.identifier), is: [identifier])
      expect(found.first?.places.count, is: count)
      // Each key has a place on another device, in one packaging.
      let other = try Scratch()
      let arrival = shipped.destination(of: identifier, in: other.directory)
      for place in found.first?.places ?? [] {
        expect(arrival?.places[String(decoding: place.root, as: UTF8.self)] != nil, "\(place)")
      }
      let inventory = try Inventory(of: SharedDirectory(try Directory.open(scratch.path)), apps: found)
      var choice = PlanChoice(inventory)
      try choice.apply("+1")
      let part = choice.parts(of: inventory)[0]
      var parents: [[UInt8]: SharedDirectory] = [:]
      let source = try FolderSource(
        roots: try part.roots(in: SharedDirectory(try Directory.open(scratch.path)), sharing: &parents),
        selecting: part.selection)
      expect(try source.prepare(until: StopSignal()).total.items, is: UInt64(3 * count))
    }
  }

  @Test(arguments: shipped.descriptions.values.filter { !$0.settings.isEmpty }.map(\.identifier).sorted())
  func `settings with what a description names arrive as it says, and no others`(_ identifier: String) throws {
    let keys = try #require(shipped.descriptions[identifier]).settings.map(\.path)
    let dump = keys.map {
      "[\($0.split(separator: "/").dropLast($0.hasSuffix("/") ? 0 : 1).joined(separator: "/"))]\n"
        + "\($0.hasSuffix("/") ? "x" : $0.split(separator: "/").last.map(String.init) ?? "")=1\n"
    }
    let all = try #require(DesktopSettings(dump: Array((dump.joined() + "[org/example]\nother=1\n").utf8)))
    let app = try #require(shipped.apps(with: all).first { $0.identifier == identifier })
    expect(app.kind == .settings && app.settings?.count == keys.count)
    let other = try Scratch()
    let found = shipped.destination(of: identifier, in: other.directory)
    let arrival = try #require(found)
    expect(arrival.places, is: ["dconf": Array(".local/share/peer-settings/\(identifier)".utf8)])
    expect(all.only(arrival.settings), is: app.settings)
  }

  /// For each description with patterns: a path below the root that stays behind, and one that moves.
  @Test(arguments: [
    ("org.mozilla.firefox", ".mozilla/firefox", "a.default/lock", "a.default/places.sqlite"),
    ("org.mozilla.Thunderbird", ".thunderbird", "a.default/cache2/x", "a.default/prefs.js"),
    ("org.chromium.Chromium", ".config/chromium", "SingletonLock", "Default/Bookmarks"),
    ("com.google.Chrome", ".config/google-chrome", "Default/GPUCache/x", "Default/Cookies"),
    ("openssh", ".ssh", "agent.1", "id_ed25519"), ("gnupg", ".gnupg", "S.gpg-agent", "pubring.kbx"),
    ("git", ".config/git", "credentials", "config"), ("vim", ".vim", "plugin/.a.swp", "plugin/a.vim"),
    ("syncthing", ".local/state/syncthing", "index-v0.14.0.db/x", "config.xml"),
  ])
  func `locks, caches and sockets stay behind`(_ app: String, _ root: String, _ left: String, _ kept: String) throws {
    let scratch = try Scratch()
    scratch.write("\(root)/\(left)", "x")
    scratch.write("\(root)/\(kept)", "12345")
    var mistakes: [DescriptionError] = []
    let found = shipped.apps(in: scratch.directory, mistakes: &mistakes)
    expect(found.map(\.identifier), is: [app])
    var inventory = try inventory(scratch, found)
    try inventory.measure(until: StopSignal())
    expect(inventory.entries[0].size?.tally.bytes, is: 5)
  }
}
