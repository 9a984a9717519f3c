import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// The relay that the user has named, for a transfer.
struct Via: Equatable, Sendable {
  /// The environment variable that names a relay for good.
  static let variable = "PEER_RELAY"

  let place: HostAndPort
  /// The file with its token; nil for the token that this device remembers.
  var tokenFile: [UInt8]?
  /// Whether it is named on the command line.
  let isOption: Bool

  /// Nil without a relay.
  init?(_ arguments: Arguments, variable: String? = Environment.get(Self.variable)) throws(Failure) {
    tokenFile = arguments.bytes("--via-token-file")
    let option = try arguments.text("--via")
    isOption = option != nil
    guard let text = option ?? variable.flatMap({ $0.isEmpty ? nil : $0 }) else {
      guard tokenFile == nil else { throw .usage("--via-token-file requires --via", hint: "Add --via HOST.") }
      return nil
    }
    let name = isOption ? "--via" : Self.variable
    let hint = "Write the relay as HOST, or HOST:PORT."
    place = try HostAndPort.ParseError.mapped(HostAndPort.parse(text, defaultPort: Limits.relayPort)) {
      Failure.usage("\(name): \($0)", hint: hint)
    }
    guard place.host != nil else { throw .usage("\(name): missing host", hint: hint) }
    guard place.port != 0 else { throw .usage("\(name): port 0 is not valid", hint: hint) }
    guard place.text.utf8.count <= RelayRequest.longestName else {
      throw .usage("\(name): the name is too long", hint: hint)
    }
  }
}

extension Via {
  private static let file = SecretFile(
    option: "--via-token-file", content: "a token",
    hint: "The administrator of the relay has the token: 'peer relay --token-file FILE' makes it.")

  /// The relay with its token: of the given file, or as it is remembered, or as the user types it
  /// once, at the terminal or to the program that reads the events. It is remembered for this relay.
  func access(
    home: [UInt8], _ output: Output, asksProgram: Bool, unless interruptions: [CInt]
  ) throws(Failure) -> RelayAccess {
    if tokenFile == nil, let known = try remembered(home) { return RelayAccess(place, known) }
    let token: RelayToken
    if let tokenFile {
      token = try given(tokenFile)
    } else if asksProgram {
      let questioner = ProgramQuestioner(output: output, interruptions: interruptions)
      token = try ask { (mistake) throws(Failure) in
        try questioner.ask(.token, ["address": RelayAccess.shown(place)], mistake: mistake)
      }
    } else {
      token = try askAtTerminal(output, interruptions)
    }
    do throws(SystemError) {
      let folder = try Directory.openOrMake(Self.folder(home), mode: 0o700)
      try folder.replaceFile(Array(place.text.utf8), with: Array("\(token.text)\n".utf8))
    } catch {
      throw Failure(.failed, "the relay's token cannot be remembered: \(error)")
    }
    return RelayAccess(place, token)
  }

  /// The folder with the tokens, each in a file with the name of its relay.
  static let folderName = "relays"
  private static func folder(_ home: [UInt8]) -> [UInt8] { home + Array("/\(folderName)".utf8) }

  private func remembered(_ home: [UInt8]) throws(Failure) -> RelayToken? {
    let path = Self.folder(home) + Array("/\(place.text)".utf8)
    guard (try? Directory.status(of: path)) != nil else { return nil }
    return try given(path)
  }

  private func given(_ path: [UInt8]) throws(Failure) -> RelayToken {
    var text = try Self.file.read(path)
    defer { cleanse(&text) }
    text.removeSubrange((text.firstIndex(of: UInt8(ascii: "\n")) ?? text.count)...)
    guard let token = RelayToken(typed: text) else {
      throw .usage(
        "--via-token-file: the first line of \(VisibleText.quoted(path)) is not a token of 32 hexadecimal digits",
        hint: Self.file.hint)
    }
    return token
  }

  private func askAtTerminal(_ output: Output, _ interruptions: [CInt]) throws(Failure) -> RelayToken {
    let relay = VisibleText.of(RelayAccess.shown(place))
    guard let questioner = Questioner() else {
      throw .usage(
        "the token of the relay \(relay) is not known here", hint: "Name a file with it: --via-token-file FILE.")
    }
    return try output.hold { () throws(Failure) in
      try ask { (mistake) throws(Failure) in
        if let mistake { questioner.write(mistake + "\n") }
        return try? questioner.ask("Token of the relay \(relay): ", unless: interruptions)
      }
    }
  }

  /// Asks until there is a token, at most as often as for a code.
  private func ask(
    _ line: (_ mistake: String?) throws(Failure) -> Terminal.Line?
  ) throws(Failure) -> RelayToken {
    var mistake: String?
    for _ in 0..<CodeEntry.tries {
      switch try line(mistake) {
      case .line(var text)?:
        defer { cleanse(&text) }
        if let token = RelayToken(typed: text) { return token }
        mistake = "That is not a token: a token has 32 hexadecimal digits."
      case .interrupted?: throw Failure(.interrupted, "interrupted before the token was entered")
      case .endOfInput?, nil: throw .usage("no token was entered", hint: Self.file.hint)
      }
    }
    throw .usage("no valid token was entered", hint: Self.file.hint)
  }
}
