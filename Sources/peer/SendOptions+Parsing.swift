import MigrationEngine
import MigrationHost
import MigrationSystem
import MigrationTransfer
import MigrationWire

extension SendOptions {
  /// Parses the words after `peer send`.
  init(_ arguments: Arguments) throws(TransferFailure) {
    app = try arguments.app()
    for option in ["--idle-limit", "--as"] where app == nil && arguments.bytes(option) != nil {
      throw .usage("\(option) requires --app", .send)
    }
    idleLimit = try arguments.idleLimit() ?? .standard
    claim = try arguments.claim()
    owners = arguments.has("--owners")
    if let app {
      guard !owners else { throw .usage("--owners cannot be used with --app", .send) }
      guard arguments.operands.isEmpty else {
        throw .usage(
          "unexpected argument \(VisibleText.quoted(arguments.operands[0])): --app \(VisibleText.of(app)) takes no path",
          .send)
      }
      sources = []
      try Self.checkNothingIsExcluded(arguments)
    } else {
      sources = try Self.sources(arguments.operands)
    }
    to = try Self.destination(arguments)
    code =
      switch arguments.bytes("--code-file") {
      case nil: .prompt
      case Array("-".utf8): .standardInput
      case let path?: .file(path)
      }
    exclusions = try Self.exclusions(arguments, code)
    isWithoutCaches = arguments.has("--exclude-caches")
    compression = try Self.compression(arguments)
    limit = try arguments.rate("--limit")
    streams = try arguments.streams()
    label = try arguments.label()
    giveUpAfter = try arguments.patience()
    json = arguments.has("--json")
  }

  /// The exclusions, in the order in which they were typed.
  private static func exclusions(
    _ arguments: Arguments, _ code: CodeSource
  ) throws(TransferFailure) -> [ExclusionSource] {
    let exclusions: [ExclusionSource] = arguments.settings.compactMap { setting in
      switch setting.option {
      case "--exclude": .pattern(setting.value)
      case "--exclude-from": setting.value == Array("-".utf8) ? .standardInput : .file(setting.value)
      default: nil
      }
    }
    let readers = exclusions.count { $0 == .standardInput } + (code == .standardInput ? 1 : 0)
    guard readers < 2 else {
      throw .usage("standard input cannot be read twice", hint: "write one of the inputs to a file, and name that")
    }
    return exclusions
  }

  private static func compression(_ arguments: Arguments) throws(TransferFailure) -> CompressionPreference {
    guard let text = try arguments.text("--compress") else { return .auto }
    guard let preference = CompressionPreference(rawValue: text) else {
      throw .usage(
        "--compress: invalid value '\(VisibleText.of(text))'", hint: "write \(arguments.choices("--compress"))")
    }
    return preference
  }

  private static func checkNothingIsExcluded(_ arguments: Arguments) throws(TransferFailure) {
    for option in ["--exclude", "--exclude-from", "--exclude-caches"]
    where arguments.has(option) || arguments.bytes(option) != nil {
      throw .usage(
        "\(option) cannot be used with --app", hint: "remove it: the app's exporter chooses the data")
    }
  }

  private static func destination(_ arguments: Arguments) throws(TransferFailure) -> HostAndPort? {
    let hint = "'peer receive' on the other device shows the address, as in --to 192.0.2.7"
    guard let to = try arguments.hostAndPort("--to", hint: hint, by: HostAndPort.parse) else { return nil }
    guard to.host != nil else { throw .usage("--to: missing host", hint: hint) }
    guard to.port != 0 else { throw .usage("--to: port 0 is not valid", hint: hint) }
    return to
  }

  /// Checks that every source has a name of its own at the destination.
  private static func sources(_ operands: [[UInt8]]) throws(TransferFailure) -> [[UInt8]] {
    guard !operands.isEmpty else {
      throw .usage("missing argument: PATH", hint: "name files or folders, as in 'peer send Documents --to HOST'")
    }
    var sources: [[UInt8]] = []
    var typed: [ArraySlice<UInt8>: [UInt8]] = [:]
    for operand in operands {
      let source = withoutTrailingSlashes(operand)
      let name = try arrivalName(of: source, typed: operand)
      if let other = typed.updateValue(operand, forKey: name) {
        throw .usage(
          "\(VisibleText.quoted(other)) and \(VisibleText.quoted(operand)) would both arrive as \(VisibleText.quoted(name))",
          hint: "send them separately, each into its own directory")
      }
      sources.append(source)
    }
    return sources
  }

  private static func withoutTrailingSlashes(_ path: [UInt8]) -> [UInt8] {
    var path = path
    while path.last == UInt8(ascii: "/") { path.removeLast() }
    return path
  }

  /// The last component of a path: its name at the destination.
  private static func arrivalName(of path: [UInt8], typed: [UInt8]) throws(TransferFailure) -> ArraySlice<UInt8> {
    let shown = VisibleText.quoted(typed)
    guard !typed.isEmpty else {
      throw .usage("one of the paths is an empty string", hint: "a variable in the command line may have no value")
    }
    guard path != Array("-".utf8) else {
      throw .usage("standard input cannot be sent", hint: "to send a file named '-', write ./-")
    }
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path[...]
    guard !name.isEmpty, name != Array(".".utf8)[...], name != Array("..".utf8)[...] else {
      throw .usage(
        "\(shown) has no name for the destination",
        hint: "name its contents, or write its name, as in ../Documents")
    }
    return name
  }
}
