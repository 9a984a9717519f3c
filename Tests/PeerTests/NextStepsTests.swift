import Expectations
import MigrationApps
import TestSupport
import Testing

@testable import peer

@Suite struct NextStepsTests {
  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    for name in ["lists", "flatpak/appstream/flathub/x86_64/active/icons/64x64"] { scratch.makeDirectory(name) }
    scratch.write("lists/a_Packages", "Package: vim\nVersion: 1\n\nPackage: g++\nDescription: Package: fish\n")
    scratch.write("lists/a_Release", "Package: fish\n")
    scratch.write("flatpak/appstream/flathub/x86_64/active/icons/64x64/org.example.App.png", "")
  }

  private func sentences(_ steps: NextSteps) -> [String] {
    steps.steps(PackageCatalogue(lists: scratch.at("lists"), flatpaks: [scratch.at("flatpak")])).map(\.sentence)
  }

  @Test func `a program enters a command only if this computer's catalogue has it`() {
    let missing: [AppDestination.Missing] = [
      .package("vim"), .package("g++"), .package("fish"), .package("--purge"), .flatpak("org.example.App"),
      .flatpak("org.example.Other"), .package("x;y"),
    ]
    expect(
      sentences(NextSteps(missing: missing)),
      is: [
        "To install the programs that the data belongs to: apt install g++ vim",
        "To install the apps that the data belongs to: flatpak install flathub org.example.App",
        "Not installed here, and found in no catalogue of this computer: '--purge', fish, org.example.Other, 'x;y'",
      ])
    expect(sentences(NextSteps()), is: [])
  }

  @Test func `programs of the old computer enter a command only if this computer's catalogue has them`() {
    let steps = NextSteps(missing: [.package("vim")], others: ["vim", "g++", "fish", "x--not-there"])
    expect(
      sentences(steps),
      is: [
        "To install the other programs that the old computer's user had installed: apt install g++",
        "Installed on the old computer, as it says, and in no catalogue of this one: fish, x--not-there",
        "To install the programs that the data belongs to: apt install vim",
      ])
    let catalogue = PackageCatalogue(lists: scratch.at("lists"), flatpaks: [])
    expect(steps.steps(catalogue).map(\.kind), is: [.installOthers, .missingOthers, .install])
    expect(steps.steps(catalogue).map(\.names), is: [["g++"], ["fish", "x--not-there"], ["vim"]])
    let many = NextSteps(others: Set((100..<125).map { "p\($0)" }))
    expect(sentences(many)[0].hasSuffix("p118, p119 and 5 more"))
  }

  @Test func `old data is named, and can be brought back by a command that removes nothing`() {
    let aside = [("/.config/x", "/.config/x.before-2026-11-25"), (" b/y", " b/y.before-2026-11-25-2")].map {
      Asides.Aside(place: Array("/home/a\($0.0)".utf8), name: Array("/home/a\($0.1)".utf8))
    }
    expect(
      sentences(NextSteps(aside: aside)),
      is: [
        "What was here before is kept beside the new data. Look at it, and keep what you need: "
          + "/home/a/.config/x.before-2026-11-25 '/home/a b/y.before-2026-11-25-2'",
        "To go back instead, here for the first: mv -nT -- /home/a/.config/x /home/a/.config/x.after && "
          + "mv -nT -- /home/a/.config/x.before-2026-11-25 /home/a/.config/x",
      ])
    expect(sentences(NextSteps(unlabelled: Array("/home/a".utf8)))[0].hasSuffix(": restorecon -R /home/a"))
  }
}
