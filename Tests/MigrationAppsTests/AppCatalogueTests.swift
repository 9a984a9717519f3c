import Expectations
import Glibc
import MigrationArchive
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationApps

@Suite struct AppCatalogueTests {
  private let scratch: Scratch
  private let home: Scratch

  init() throws {
    scratch = try Scratch()
    scratch.makeDirectory("home")
    home = try Scratch("inner", in: scratch)
    for folder in ["own", "shipped", "bin"] { scratch.makeDirectory(folder) }
    scratch.write(
      "shipped/browser.app",
      """
      [Application]
      Id=browser
      Name=Browser
      Packages=browser-esr
      Programs=browser
      Secret=yes
      [Data]
      profile=home/.browser;config/browser;flatpak/org.example.browser/.browser
      extra=config/browser-extra
      [Exclude]
      Patterns=lock
      """)
  }

  private func catalogue(_ flatpaks: Flatpaks = Flatpaks()) -> AppCatalogue {
    AppCatalogue(
      folders: [scratch.at("missing"), scratch.at("own"), scratch.at("shipped")], programs: [scratch.at("bin")],
      flatpaks: flatpaks, skeleton: scratch.at("skeleton"))
  }

  private func apps(_ catalogue: AppCatalogue) -> (apps: [MovableApp], mistakes: [DescriptionError]) {
    var mistakes: [DescriptionError] = []
    return (catalogue.apps(in: home.directory, mistakes: &mistakes), mistakes)
  }

  private func arrival(_ catalogue: AppCatalogue, _ app: String = "browser") -> [String: String]? {
    catalogue.destination(of: app, in: home.directory)?.places.mapValues { String(decoding: $0, as: UTF8.self) }
  }

  private func installFlatpak() -> Flatpaks {
    scratch.write("flatpak/app/org.example.browser/current/active/metadata", "[Application]\nname=org.example.browser")
    return Flatpaks(installations: [scratch.at("flatpak")])
  }

  @Test func `the first folder with a description of an app decides, and mistakes are told`() throws {
    scratch.write("own/browser.app", "[Application]\nId=browser\nName=Mine\n[Data]\na=home/.mine\n")
    scratch.write("own/broken.app", "[Application]\nId=broken\nName=B\n[Data]\na=home/..\n")
    scratch.write("own/notes.txt", "no description")
    let catalogue = catalogue()
    expect(catalogue.descriptions.mapValues(\.name), is: ["browser": "Mine"])
    expect(catalogue.mistakes.map(\.line), is: [5])
    expect(catalogue.mistakes.map(\.file), is: [scratch.at("own/broken.app")])
  }

  @Test func `a description or a folder of them that others may change is told, and not used`() throws {
    for name in ["fine", "open"] {
      scratch.write("own/\(name).app", "[Application]\nId=\(name)\nName=X\n[Data]\na=home/.\(name)\n")
    }
    try #require(chmod(scratch.path("own/open.app"), 0o666) == 0)
    scratch.makeLink("own/linked.app", to: "fine.app")
    expect(catalogue().descriptions.keys.sorted(), is: ["browser", "fine"])
    expect(
      catalogue().mistakes.map(\.description),
      is: [
        "the description '\(scratch.path("own/linked.app"))' is not used: it is a link",
        "the description '\(scratch.path("own/open.app"))' is not used: it can be changed by every user",
      ])
    try #require(chmod(scratch.path("own"), 0o777) == 0)
    scratch.remove("shipped/browser.app")
    let own = scratch.path("own")
    expect(catalogue().descriptions.isEmpty)
    expect(
      catalogue().mistakes.map(\.description),
      is: [
        "the descriptions in '\(own)' are not used: '\(own)' can be changed by every user"
      ])
  }

  @Test func `what every new home has is no data`() {
    for place in ["skeleton", "inner"] { scratch.write("\(place)/.browser", "as new") }
    expect(apps(catalogue()).apps.isEmpty)
    home.write(".browser", "mine")
    expect(apps(catalogue()).apps.map(\.places.count), is: [1])
  }

  @Test func `the sender takes the data of one packaging, the installed one first`() throws {
    expect(apps(catalogue()).apps.isEmpty)
    home.write(".var/app/org.example.browser/.browser/places", "x")
    expect(
      apps(catalogue()).apps.map(\.places), is: [[place("profile", ".var/app/org.example.browser/.browser")]])
    home.write(".config/browser/places", "x")
    home.write(".config/browser-extra", "x")
    func described(_ flatpaks: Flatpaks = Flatpaks()) -> [[HomeItem]] {
      apps(catalogue(flatpaks)).apps.filter { $0.kind == .described }.map(\.places)
    }
    let native = [place("profile", ".config/browser"), place("extra", ".config/browser-extra", .file)]
    expect(described(), is: [native])
    expect(described(installFlatpak()), is: [[place("profile", ".var/app/org.example.browser/.browser")]])
    scratch.write("bin/browser", "program")
    expect(described(installFlatpak()), is: [native])
    expect(apps(catalogue()).apps.first?.hasSecrets, is: true)
    expect(apps(catalogue()).apps.first?.exclusions, is: [Array("lock".utf8)])
  }

  @Test func `a place behind a link is not followed, and named with file and line`() throws {
    scratch.makeDirectory("outside/browser")
    home.makeLink(".config", to: scratch.path("outside"))
    home.makeLink(".browser", to: scratch.path("outside/browser"))
    let found = apps(catalogue())
    expect(found.apps.isEmpty)
    expect(found.mistakes.map(\.line), is: [8, 8, 9])
    expect(
      found.mistakes.dropFirst().first?.reason,
      is: "'.config/browser' leads through a symbolic link, which is not followed")
  }

  @Test func `the receiver puts data where its own packaging looks, and never hides other data`() throws {
    expect(arrival(catalogue()), is: ["profile": ".browser", "extra": ".config/browser-extra"])
    expect(arrival(catalogue(installFlatpak())), is: ["profile": ".var/app/org.example.browser/.browser"])
    scratch.write("bin/browser", "program")
    home.makeDirectory(".config/browser")
    expect(arrival(catalogue()), is: ["profile": ".config/browser", "extra": ".config/browser-extra"])
    expect(arrival(catalogue(), "unknown") == nil)
  }

  @Test func `the receiver says what is to be installed`() throws {
    func missing(_ app: String, _ flatpaks: Flatpaks = Flatpaks()) -> AppDestination.Missing? {
      catalogue(flatpaks).destination(of: app, in: home.directory)?.missing
    }
    expect(missing("browser"), is: .package("browser-esr"))
    expect(missing("org.example.Other"), is: .flatpak("org.example.Other"))
    scratch.write("bin/browser", "program")
    expect(missing("browser") == nil)
    expect(missing("org.example.browser", installFlatpak()) == nil)
  }

  @Test func `a Flatpak without a description moves as a whole, without what it makes again`() throws {
    home.write(".var/app/org.example.Game/data/saved", "x")
    home.write(".var/app/org.example.Game/cache/big", "x")
    home.write(".local/share/flatpak/overrides/org.example.Game", "[Context]")
    home.write(".var/app/not a flatpak/data", "x")
    let launcher = "flatpak/app/org.example.Game/current/active/export/share/applications/org.example.Game.desktop"
    scratch.write(launcher, "[Desktop Entry]\nName[de]=Spiel\nName=Game\n")
    let game = try #require(apps(catalogue(Flatpaks(installations: [scratch.at("flatpak")]))).apps.first)
    expect(game.name, is: "Game")
    expect(
      game.places,
      is: [
        place("container", ".var/app/org.example.Game"),
        place("overrides", ".local/share/flatpak/overrides/org.example.Game", .file),
      ])
    var inventory = try inventory(home, [game])
    try inventory.measure(until: StopSignal())
    expect(inventory.entries[0].size?.tally, is: Tally(items: 4, bytes: 10))
    expect(arrival(catalogue(), "org.example.Game")?["container"], is: ".var/app/org.example.Game")
  }

  @Test func `a running Flatpak is in use, and one that was killed is not`() throws {
    home.makeDirectory(".var/app/org.example.Game")
    for (instance, app, process) in [("1", "org.example.Game", "self"), ("2", "org.example.Game", "x")] {
      scratch.write("run/\(instance)/info", "[Application]\nname=\(app)\n")
      scratch.write("run/\(instance)/pid", process == "self" ? "\(CurrentProcess.id)" : "")
    }
    let flatpaks = Flatpaks(instances: scratch.at("run"))
    expect(apps(catalogue(flatpaks)).apps.map(\.inUse), is: ["process \(CurrentProcess.id)"])
    scratch.write("run/1/pid", "99999999")
    expect(apps(catalogue(flatpaks)).apps.map(\.inUse), is: [nil])
  }

  @Test func `files that every new home has, and those of a mere start, are no data`() throws {
    let skeleton = try Scratch()
    scratch.write(
      "own/shell.app",
      "[Application]\nId=shell\nName=Shell\n[Data]\nrc=home/.rc\nfolder=home/.shell\nhistory=home/.history\n"
        + "[Start]\nFiles=history;folder/cache/recent;\n")
    skeleton.write(".rc", "the same")
    home.write(".rc", "the same")
    func present() -> [String]? {
      let keys = ["rc", "folder", "history", "other"].map { Array($0.utf8) }
      return catalogue().destination(of: "shell", in: home.directory)?
        .data(of: keys, in: home.directory, besides: skeleton.at(""))
        .map { String(decoding: $0, as: UTF8.self) }
    }
    home.write(".history", "ls")
    home.write(".shell/cache/recent", "a")
    expect(present(), is: [])
    home.write(".rc", "another")
    home.write(".shell/cache/other", "b")
    expect(present(), is: [".rc", ".shell"])
  }
}
