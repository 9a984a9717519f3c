import Expectations
import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire
import Testing

@testable import peer

@Suite struct ArgumentsTests {
  private func parse(_ words: String...) throws(Failure) -> Command {
    try Command(words.map { Array($0.utf8) })
  }

  private func sending(_ words: String...) throws -> SendOptions {
    guard case .send(let options) = try Command((["send"] + words).map { Array($0.utf8) }) else {
      throw Failure(.failed, "not a send")
    }
    return options
  }

  @Test func `receive needs no arguments`() throws {
    expect(try parse("receive"), is: .receive(ReceiveOptions()))
  }

  @Test func `receive takes a directory and its options in any order`() throws {
    let expected = ReceiveOptions(
      directory: Array("in".utf8),
      transfer: Receiver.Options(listen: HostAndPort(host: "192.0.2.7", port: 5000), label: "new"), json: true)
    expect(try parse("receive", "in", "--listen", "192.0.2.7:5000", "--label", "new", "--json"), is: .receive(expected))
    expect(try parse("receive", "--json", "--label=new", "--listen=192.0.2.7:5000", "in"), is: .receive(expected))
  }

  @Test(arguments: [
    ("5000", HostAndPort(host: nil, port: 5000)), (":5000", HostAndPort(host: nil, port: 5000)),
    ("0", HostAndPort(host: nil, port: 0)), ("[::1]:5000", HostAndPort(host: "::1", port: 5000)),
  ])
  func `the parser reads an address to listen on`(text: String, expected: HostAndPort) throws {
    expect(
      try parse("receive", "--listen", text), is: .receive(ReceiveOptions(transfer: Receiver.Options(listen: expected)))
    )
  }

  @Test func `the parser reads the ranges that may pair`() throws {
    let ranges = [try AddressRange.parse("192.0.2.0/24"), try AddressRange.parse("fe80::1%lo")]
    var expected = ReceiveOptions()
    expected.transfer.from = ranges
    expect(try parse("receive", "--from", "192.0.2.9/24", "--from=fe80::1%lo"), is: .receive(expected))
  }

  @Test func `send takes paths and a destination`() throws {
    expect(
      try sending("a", "b/c/", "--to", "host", "/d///")
        == SendOptions(
          sources: ["a", "b/c/", "/d///"].map { Array($0.utf8) },
          transfer: Sender.Options(target: .host(HostAndPort(host: "host", port: 47470)))))
  }

  @Test func `options keep owners and set-id bits`() throws {
    expect(try sending("a", "--owners", "--to=h").owners)
    expect(try !sending("a", "--to=h").owners)
    expect(try parse("receive", "--owners"), is: .receive(ReceiveOptions(owners: true)))
    expect(try parse("receive", "--set-id-bits"), is: .receive(ReceiveOptions(setIDBits: true)))
    expect(try parse("receive", "--take-apps"), is: .receive(ReceiveOptions(permissions: [.files, .apps])))
  }

  @Test func `data is compressed when that is faster, unless an option decides otherwise`() throws {
    expect(try sending("a", "--to=h").transfer.compression, is: .auto)
    expect(try sending("a", "--compress", "auto", "--to=h").transfer.compression, is: .auto)
    expect(try sending("a", "--compress=always", "--to=h").transfer.compression, is: .always)
    expect(try sending("--app=x", "--compress=never", "--to=h").transfer.compression, is: .never)
  }

  @Test(
    arguments: [
      ("500k", 500_000), ("20M", 20_000_000), ("1.5G", 1_500_000_000), ("20m", 20_000_000), ("1000", 1_000),
      ("0.5M", 500_000),
    ] as [(String, UInt64)])
  func `a limit is in bytes a second, with decimal units`(text: String, expected: UInt64) throws {
    expect(try sending("a", "--to=h", "--limit", text).transfer.limit, is: expected)
  }

  @Test(
    arguments: [
      ("500k", 500_000), ("20M", 20_000_000), ("1.5G", 1_500_000_000), ("2t", 2_000_000_000_000), ("1", 1),
      ("1e9", nil), ("99999999999T", Limits.fileSize),
    ] as [(String, UInt64?)])
  func `the maximum size is in bytes, with decimal units`(text: String, expected: UInt64?) throws {
    let command = try? Command(["receive", "--max-size", text].map { Array($0.utf8) })
    guard case .receive(let options) = command else {
      expect(expected == nil)
      return
    }
    expect(options.mostBytes, is: expected)
  }

  @Test func `by default there is no limit, and the best number of streams`() throws {
    expect(try sending("a", "--to=h").transfer.limit == nil)
    expect(try sending("a", "--to=h").transfer.streams == nil)
    expect(try sending("a", "--to=h", "--streams=64").transfer.streams, is: 64)
  }

  @Test(
    arguments: [
      ("android", SourceClaim(platform: "android")), ("android,", SourceClaim(platform: "android", store: "")),
      ("linux,a,b", SourceClaim(platform: "linux", store: "a,b")),
    ])
  func `a claim is a platform with an optional store`(text: String, claim: SourceClaim) throws {
    expect(try sending("--app=x", "--to=h", "--as", text).claim, is: claim)
    expect(try sending("--app=x", "--to=h").claim == nil)
  }

  @Test func `the idle limit of an exporter is 20 seconds, another time, or none`() throws {
    expect(try sending("--app=x", "--to=h").idleLimit, is: .seconds(20))
    expect(try sending("--app=x", "--to=h", "--idle-limit=off").idleLimit, is: .off)
  }

  @Test func `folders are one part, and each app is one, in the order of the command line`() throws {
    let both = try sending("--app", "b", "Documents", "--app=a", "Pictures", "--to=h")
    expect(both.sources, is: [Array("Documents".utf8), Array("Pictures".utf8)])
    expect(both.apps == ["b", "a"] && both.appsInFront == 1)
    expect(try sending("--app=b", "--app=a", "--to=h").appsInFront, is: 2)
    expect(try sending("--app=a", "--to=h", "--", "Documents").appsInFront, is: 1)
  }

  @Test func `everything is received with the home as the default, and with equal items counted as there`() throws {
    guard case .receive(let options) = try parse("receive", "--everything", "--take-apps", "--replace") else {
      Issue.record("another command")
      return
    }
    expect(options.takesEverything && options.permissions == [.files, .apps])
    expect(options.existing == EverythingImporters.existing && options.importing.replaces)
  }

  @Test func `an app is sent and received without paths`() throws {
    expect(
      try sending("--app", "org.example", "--to=h", "--idle-limit", "2m"),
      is: SendOptions(
        sources: [], apps: ["org.example"], appsInFront: 1, idleLimit: .seconds(120),
        transfer: Sender.Options(target: .host(HostAndPort(host: "h", port: 47470)))))
    // The app that the user names is the answer.
    var options = ReceiveOptions(app: "org.example", permissions: .all)
    options.importing.platform = "android"
    options.importing.requested = [.init(name: "a", value: Array("b=c".utf8)), .init(name: "d", value: [])]
    options.importing.replaces = true
    expect(
      try parse(
        "receive", "--app=org.example", "--option", "a=b=c", "--platform", "android", "--option=d=", "--replace"),
      is: .receive(options))
  }

  @Test func `the code comes from the prompt, a file or standard input`() throws {
    expect(try sending("a", "--to=h").code, is: .prompt)
    expect(try sending("a", "--to=h", "--code-file", "-").code, is: .standardInput)
    expect(try sending("a", "--to=h", "--code-file=c").code, is: .file([UInt8(ascii: "c")]))
  }

  @Test func `exclusions keep the order in which they were typed`() throws {
    let options = try sending(
      "a", "--exclude", "*.o", "--exclude-from=f", "--exclude=-x", "--exclude-from", "-", "--exclude-caches", "--to=h")
    expect(
      options.exclusions,
      is: [.pattern(Array("*.o".utf8)), .file(Array("f".utf8)), .pattern(Array("-x".utf8)), .standardInput])
    expect(options.isWithoutCaches)
  }

  @Test func `two dashes end the options`() throws {
    expect(try sending("--to", "h", "--", "--json", "-x").sources, is: ["--json", "-x"].map { Array($0.utf8) })
  }

  @Test func `an attached value may begin with a dash and contain an equals sign`() throws {
    expect(try sending("a", "--to=h", "--label=-a=b").transfer.greeting.label, is: "-a=b")
  }

  @Test func `paths need not be UTF-8`() throws {
    let name: [UInt8] = [0x66, 0xFF, 0x80]
    let command = try Command([Array("send".utf8), name, Array("--to=h".utf8)])
    expect(
      command,
      is: .send(
        SendOptions(sources: [name], transfer: Sender.Options(target: .host(HostAndPort(host: "h", port: 47470))))))
  }

  @Test func `names may differ in case and lie inside each other`() throws {
    expect(try sending("a", "A", "a/b", "--to=h").sources.count, is: 3)
    expect(try sending(".", "a/..", "b/.", "--to=h").sources.count, is: 3)
  }

  @Test(
    arguments: [
      (["--help"], nil), (["-h"], nil), (["help"], nil), (["help", "help"], .help), (["help", "send"], .send),
      (["--help", "receive"], .receive), (["send", "--help"], .send), (["receive", "a", "b", "-h"], .receive),
      (["send", "a", "-h", "--json"], .send),
      (["app", "--help"], .app), (["help", "app"], .app), (["help", "app", "run"], .appRun),
      (["app", "install", "-h"], .appInstall), (["app", "run", "--help", "x"], .appRun),
    ] as [([String], Verb?)])
  func `the parser finds a request for help in any place`(words: [String], topic: Verb?) throws {
    expect(try Command(words.map { Array($0.utf8) }), is: .help(topic))
  }

  @Test(
    arguments: [
      (["install", "b", "--json"], .install(Array("b".utf8))), (["list"], .list(all: false)),
      (["list", "--json", "--all"], .list(all: true)),
      (["remove", "--json", "x.y"], .remove("x.y", credentials: false)),
      (["remove", "x.y", "--credentials"], .remove("x.y", credentials: true)),
      (["status", "x", "--clear"], .status("x", clear: true)),
      (["new", "d"], .new(NewAppOptions(directory: Array("d".utf8)))),
      (
        ["new", "--json", "d", "--package=p", "--id", "a.b"],
        .new(NewAppOptions(directory: Array("d".utf8), identifier: "a.b", package: Array("p".utf8)))
      ),
      (["run", "x"], .run("x", arguments: [])), (["run", "--", "x"], .run("x", arguments: [])),
      (
        ["run", "x", "--help", "--", "-x", "--json"],
        .run("x", arguments: ["--help", "--", "-x", "--json"].map { Array($0.utf8) })
      ),
    ] as [([String], AppCommand)])
  func `the words after app are a command`(words: [String], command: AppCommand) throws {
    let json = words.first != "run" && words.contains("--json")
    expect(try Command((["app"] + words).map { Array($0.utf8) }), is: .app(command, json: json))
  }

  @Test func `an app's arguments need not be UTF-8`() throws {
    let words = ["app", "run", "x"].map { Array($0.utf8) } + [[0xFF]]
    expect(try Command(words), is: .app(.run("x", arguments: [[0xFF]]), json: false))
  }

  @Test func `the version takes one word, and an empty command line is valid`() throws {
    expect(try parse("--version"), is: .version(isVerbose: false))
    expect(try parse("--version", "--verbose"), is: .version(isVerbose: true))
    expect(try parse(), is: .nothing)
  }
}
