import MigrationEngine
import MigrationTransfer
import MigrationWire

extension Command {
  /// Understands what stands behind `peer code`.
  static func code(_ verb: Verb, _ arguments: Arguments) throws(TransferFailure) -> Command {
    guard verb == .codeNew else {
      guard let first = arguments.operands.first else {
        throw .usage("'peer code' needs 'new' behind it", hint: "run 'peer code new'")
      }
      throw unknownCodeCommand(VisibleText.of(first))
    }
    if let stray = arguments.operands.first {
      throw .usage("'peer code new' takes no \(VisibleText.quoted(stray))", verb)
    }
    return .newCode(file: try arguments.codeFile())
  }

  /// A word behind `peer code` that is none of its commands.
  static func unknownCodeCommand(_ word: String) -> TransferFailure {
    .usage("'peer code' has no command '\(word)'", hint: "run 'peer code new' to make a code")
  }
}

extension Arguments {
  /// The file of a code; a name is needed, since it is for one user's eyes.
  func codeFile() throws(TransferFailure) -> [UInt8]? {
    guard let file = bytes("--code-file") else { return nil }
    guard file != Array("-".utf8) else {
      throw .usage(
        "--code-file names a file here, and not standard input",
        hint: "write what comes to a file first: (umask 077; cat > FILE)")
    }
    return file
  }
}
