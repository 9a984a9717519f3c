import Expectations
import Glibc
import MigrationWire
import TestSupport
import Testing

@testable import MigrationArchive

/// Compares the rules for patterns with those of git itself, if it is installed.
@Suite(.enabled(if: GitProgram.path != nil, "git is not installed")) struct GitRulesTests {
  @Test(arguments: 0..<60) func `random patterns select what git selects in random trees`(seed: UInt64) throws {
    var dice = Dice(seed: seed)
    let scratch = try Scratch.withFolders()
    let paths = makeTree(scratch, &dice)
    try GitProgram.run(["init", "-q"], in: scratch, input: "")
    for _ in 0..<5 {
      let lines = (0..<dice.roll(6) + 1).map { _ in dice.pattern() }.joined(separator: "\n") + "\n"
      scratch.write("source/.git/info/exclude", Array(lines.utf8))
      let ignored = try GitProgram.run(
        ["check-ignore", "--no-index", "-z", "--stdin"], in: scratch, input: paths.joined(separator: "\0"))
      var selection = Selection()
      selection.exclusions.append(lines: Array("\(lines)\n/.git\n".utf8))
      let tree = try SourceWalk.walk([SourceRoot(path: scratch.at("source"))], selecting: selection)
      let sent = try tree.nodes.indices.dropFirst().map {
        String(decoding: try tree.path($0).bytes.dropFirst("source/".utf8.count), as: UTF8.self)
      }
      let expected = Set(paths).subtracting(ignored.split(separator: "\0").map(String.init))
      expect(
        Set(sent), is: expected,
        "differing: \(expected.symmetricDifference(sent).sorted()) by \(lines.debugDescription)")
    }
  }

  /// Creates a small tree of names that the patterns are likely to match. Returns the paths of all
  /// items.
  private func makeTree(_ scratch: Scratch, _ dice: inout Dice) -> [String] {
    var paths: [String] = []
    var directories = [""]
    for _ in 0..<40 {
      let path = directories[dice.roll(directories.count)] + dice.name()
      guard !scratch.exists("source/\(path)") else { continue }
      switch dice.roll(8) {
      case 0...3:
        scratch.makeDirectory("source/\(path)")
        directories.append(path + "/")
      case 4: scratch.makeLink("source/\(path)", to: ".")
      default: scratch.write("source/\(path)", [])
      }
      paths.append(path)
    }
    return paths
  }
}

/// Choices determined by a seed.
private struct Dice {
  private var state: UInt64

  init(seed: UInt64) { state = seed &+ 1 }

  mutating func roll(_ count: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(count))
  }

  mutating func pick(_ choices: [String]) -> String { choices[roll(choices.count)] }

  mutating func name() -> String {
    (0...roll(3)).map { _ in pick(["a", "a", "b", "b", "c", "-", "!", "#", " ", "*", "]", "[", "\\", "5"]) }.joined()
  }

  /// A line of a pattern file.
  ///
  /// Two cases are left out in which git deviates from its documentation: two stars behind plain
  /// characters (`a**/b`), and an escaped slash behind two stars.
  mutating func pattern() -> String {
    while true {
      let line =
        pick(["", "", "", "!", "#", "\\", " "]) + pick(["", "", "/", "**/"]) + middle()
        + pick(["", "", "/", "/**", " ", "\\ "])
      if line.firstRange(of: /[^\/!*]\*\*/) == nil, line.firstRange(of: /\*\*\\\//) == nil { return line }
    }
  }

  private mutating func middle() -> String {
    (0...roll(5)).map { _ in
      pick([
        "a", "a", "b", "b", "c", "*", "*", "*", "?", "/", "/", "/**/", "[ab]", "[!a]", "[^b]", "[a-c]", "[]-]",
        "[[:alpha:]]",
        "[!-5]", "[--a]", "[a", "]", "\\", "\\*", "\\[", "-", " ", "[[:x:]]", "[b/]", "!", "#", "**",
      ])
    }.joined()
  }
}

/// The git of this machine.
private enum GitProgram {
  static let path = ["/usr/bin/git", "/usr/local/bin/git", "/bin/git"].first { (path: String) in access(path, X_OK) == 0
  }

  /// Runs git in the source, without the configuration of the user or the machine. Returns its
  /// output.
  @discardableResult
  static func run(_ arguments: [String], in scratch: Scratch, input: String) throws -> String {
    let (code, output) = try TestSupport.run(
      path ?? "", ["git", "-C", scratch.path("source")] + arguments,
      environment: ["HOME=\(scratch.path)", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"],
      input: Array(input.utf8))
    // 1 means that no file is ignored.
    expect(code == 0 || code == 1)
    return String(decoding: output, as: UTF8.self)
  }
}
