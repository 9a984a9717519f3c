import MigrationEngine
import MigrationTransfer
import MigrationWire

extension Command {
  /// Parses the words after `peer code`.
  static func code(_ verb: Verb, _ arguments: Arguments) throws(TransferFailure) -> Command {
    guard verb == .codeNew else {
      guard let first = arguments.operands.first else {
        throw .usage("missing command after 'peer code'", hint: "run 'peer code new'")
      }
      throw unknownCodeCommand(VisibleText.of(first))
    }
    if let stray = arguments.operands.first {
      throw .usage("unexpected argument \(VisibleText.quoted(stray))", verb)
    }
    return .newCode(file: try arguments.codeFile())
  }

  /// An unknown command after `peer code`.
  static func unknownCodeCommand(_ word: String) -> TransferFailure {
    .usage("unknown command 'peer code \(word)'", hint: "run 'peer code new' to create a code")
  }
}

extension Arguments {
  /// The file of a code. It needs a name, since only its owner may read it.
  func codeFile() throws(TransferFailure) -> [UInt8]? {
    guard let file = bytes("--code-file") else { return nil }
    guard file != Array("-".utf8) else {
      throw .usage(
        "--code-file: standard input cannot be used here",
        hint: "write the code to a file first: (umask 077; cat > FILE)")
    }
    return file
  }
}
