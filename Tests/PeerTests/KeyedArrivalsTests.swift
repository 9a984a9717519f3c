import Expectations
import MigrationApps
import MigrationEngine
import MigrationSystem
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive
@testable import peer

@Suite struct KeyedArrivalsTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    for name in ["home", "records/descriptions"] { scratch.makeDirectory(name) }
    scratch.write("home/.config/user-dirs.dirs", "XDG_MUSIC_DIR=\"$HOME/Musik\"\n")
    scratch.write(
      "records/descriptions/x.app",
      "[Application]\nId=x\nName=The X\nPackages=x11\nPrograms=no-such-program\nIdentity=yes\n[Data]\n"
        + "config=config/x\n[Running]\nProcesses=no-such-process\n")
  }

  private func arrivals(replacing: Bool = false) throws -> KeyedArrivals {
    var facts = ArrivalRule.Facts(destination: scratch.at("home"))
    (facts.homes, facts.secret) = ([scratch.at("home")], [scratch.at("home/.config/y/gnupg")])
    return KeyedArrivals(
      area: try StagingArea(at: scratch.at("home")), home: SharedDirectory(try Directory.open(scratch.path("home"))),
      rule: ArrivalRule(facts), known: KnownApps(records: scratch.at("records"), isElsewhere: true),
      replacesApps: replacing)
  }

  private func part(_ app: String, _ keys: String...) -> Part {
    Part(.files(of: app, keys.map { Root(kind: .directory, name: Array($0.utf8)) }), name: app)
  }

  private func refusal(_ part: Part, replacing: Bool = false) throws -> String? {
    let arrivals = try arrivals(replacing: replacing)
    return thrown { () throws(Failure) in _ = try arrivals.importer(of: part) }?.description
  }

  @Test func `folders of a home go where this home has them`() throws {
    let roots = ["documents", "music", "other"].map { Root(kind: .directory, name: Array($0.utf8)) }
    let importer = try arrivals().importer(of: Part(.role("home", roots), name: "Musik"))
    expect(importer.existing, is: .merge)
    // No place of the sender's choosing.
    expect(try importer.unplaceable(roots).map(\.root), is: [2])
    #expect(throws: Failure.self) { try arrivals().importer(of: Part(.role("office", roots), name: "x")) }
  }

  @Test func `an app goes where this device's description says, and to no key beyond it`() throws {
    let part = part("x", "config", "data")
    let importer = try arrivals().importer(of: part)
    expect(importer.existing, is: .setAside)
    expect(try importer.unplaceable(part.roots).map(\.root), is: [1])
    let known = try arrivals()
    for app in ["unknown", "../x"] {
      let part = self.part(app, "config")
      let error = thrown { () throws(Failure) in _ = try known.importer(of: part) }
      expect(error?.code == .notInstalled && error?.hint?.contains("describe the app") == true)
    }
    expect(try arrivals().missing(for: part), is: .package("x11"))
  }

  @Test func `the old computer's programs are named, also where the part that tells them has failed`() throws {
    var record = PartEnds()
    let teller = Part(.folders([Root(kind: .directory, name: [97])]), name: "a", packages: ["no-such-package"])
    record.note(.plan([teller, part("x", "config")], availableBytes: nil), at: 0)
    record.note(.partEnded(PartEnd(0, "a", Failure(.exists, "it is there"))), at: 1)
    expect(try arrivals().nextSteps(after: record), is: [])
    record.note(.partEnded(PartEnd(1, "x", Samples.result())), at: 2)
    let steps = try arrivals().nextSteps(after: record)
    expect(steps.contains { $0.kind == .missingOthers && $0.names == ["no-such-package"] })
  }

  @Test func `what an app's data is, and its name, do not depend on what the sender says`() throws {
    let arrival = try #require(try arrivals().arrival(of: part("x", "config")))
    expect(arrival.name == "The X" && arrival.classes == .secrets)
    expect(arrival.places, is: [.secrets: [Array(".config/x".utf8)]])
    expect(try arrivals().arrival(of: part("org.example.App", "container"))?.classes, is: .apps)
    expect(try arrivals().arrival(of: part("unknown", "config")) == nil)
  }

  @Test func `secrets at an app's places are secrets, whatever its description says`() throws {
    scratch.write(
      "records/descriptions/y.app",
      "[Application]\nId=y\nName=The Y\n[Data]\nsettings=config/y\nkeys=home/.ssh\n")
    let (arrivals, part) = (try arrivals(), part("y", "settings", "keys"))
    let arrival = try #require(arrivals.arrival(of: part))
    expect(arrival.roots, is: [[.apps, .secrets], .secrets])
    expect(arrival.places[.secrets], is: [".config/y/gnupg", ".ssh"].map { Array($0.utf8) })
    let permit = try #require(arrivals.permit(for: part, taking: [.files, .apps]))
    func isTaken(_ path: String) throws -> Bool {
      permit.allows(try ArchivePath(Array(path.utf8)), isLink: false)
    }
    expect(try isTaken("settings/start") && !isTaken("settings/gnupg/key"))
    expect(try !isTaken("keys/id"))
    expect(
      try arrivals.permit(for: part, taking: .files)?.allows(ArchivePath(Array("settings".utf8)), isLink: false),
      is: false)
  }

  @Test func `existing data of an app is not touched unless the user says so`() throws {
    expect(try refusal(part("x", "config")) == nil)
    scratch.makeDirectory("home/.config/x")
    expect(try refusal(part("x", "config")), is: "The X has data here already: '.config/x'")
    expect(try refusal(part("x", "config"), replacing: true) == nil)
  }

  @Test func `only what an import has set aside is named, with its place`() throws {
    scratch.makeDirectory("home/.config/x.before-reinstall")
    let (arrivals, part) = (try arrivals(), part("x", "config"))
    expect(arrivals.setAside(by: part), is: [])
    let (place, name) = (
      try ArchivePath(Array(".config/x".utf8)), try ArchivePath(Array(".config/x.before-2026-11-25".utf8))
    )
    var told: [String] = []
    arrivals.asides.note([], of: "x") { told.append($0) }
    arrivals.asides.note([(place, name)], of: "x") { told.append($0) }
    expect(told, is: ["what was here before is kept: '.config/x' as '.config/x.before-2026-11-25'"])
    expect(arrivals.setAside(by: part), is: [Asides.Aside(place: place.bytes, name: name.bytes)])
  }
}
