import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// A file with a code that a script has created for both devices.
enum CodeFile {
  /// The required form of the file.
  static let file = SecretFile(
    option: "--code-file", content: "a code", hint: "Create one with 'peer code new --code-file FILE'.")

  /// Reads the code in the first line of a file.
  static func read(_ path: [UInt8], owner: UInt32 = CurrentProcess.effectiveUserID) throws(Failure)
    -> PairingCode
  {
    var line = try file.read(path, owner: owner)
    defer { cleanse(&line) }
    line.removeSubrange((line.firstIndex(of: UInt8(ascii: "\n")) ?? line.count)...)
    return try CodeEntry.check(line, from: VisibleText.quoted(path), hint: file.hint).code
  }

  /// Writes a new code to a new file that only its owner can read; an existing file is not changed.
  static func make(_ path: [UInt8], _ code: PairingCode) throws(Failure) {
    try SecretFile.make(
      path, "\(code.shown)\n", orElse: "Name another file, or remove this one: a code is for one transfer.")
  }

  /// `peer code new`: creates a code, in a file if one is named, and returns the program's exit
  /// code.
  static func perform(_ file: [UInt8]?) -> Int32 {
    Answer.give(json: false) { (_) throws(Failure) in
      let code = PairingCode.random()
      guard let file else { return Rendering(standardOutput: "\(code.shown)\n") }
      try make(file, code)
      return Rendering()
    }
  }
}

extension Arguments {
  /// The file of a code. It needs a name, since only its owner may read it.
  func codeFile() throws(Failure) -> [UInt8]? {
    guard let file = bytes("--code-file") else { return nil }
    guard file != Array("-".utf8) else {
      throw .usage(
        "--code-file: standard input cannot be used here",
        hint: "Write the code to a file first: (umask 077; cat > FILE)")
    }
    return file
  }
}
