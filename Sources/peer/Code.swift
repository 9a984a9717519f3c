import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// A file with a code that a script has created for both devices.
///
/// The receiver treats it as a secret: it must be a regular file that belongs to the user and that
/// no other user can read or change. A link might belong to another user, who would then choose the
/// code.
enum CodeFile {
  /// The size limit: a longer file does not contain a code.
  private static let sizeLimit = 4096

  /// Reads the code in the first line of a file.
  static func read(_ path: [UInt8], owner: UInt32 = CurrentProcess.effectiveUserID) throws(TransferFailure)
    -> PairingCode
  {
    let name = VisibleText.quoted(path)
    let file = try open(path)
    guard let status = try? file.status() else { throw unfit("\(name) cannot be examined") }
    guard status.kind == .regular else { throw unfit("\(name) is not a regular file") }
    guard status.owner == owner else { throw unfit("\(name) belongs to another user") }
    guard status.mode & 0o077 == 0 else {
      throw unfit("other users can access \(name)", hint: "Remove their rights: chmod 600 \(VisibleText.listed(path))")
    }
    guard status.size <= sizeLimit else { throw unfit("\(name) is too long to contain a code") }
    var line = try firstLine(file, Int(status.size))
    defer { cleanse(&line) }
    return try CodeEntry.check(line, from: name, hint: howToMake)
  }

  private static func open(_ path: [UInt8]) throws(TransferFailure) -> Descriptor {
    do throws(SystemError) {
      // Without this, opening a pipe would wait for a writer.
      return try Descriptor.open(path, [.readOnly, .nonBlocking])
    } catch {
      guard error.isSymbolicLink else { throw unreadable(path, error) }
      throw unfit("\(VisibleText.quoted(path)) is a link; the code must be in a regular file")
    }
  }

  private static func firstLine(_ file: borrowing Descriptor, _ size: Int) throws(TransferFailure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    do throws(SystemError) {
      let count = try file.readFully(at: 0, into: &bytes)
      let end = bytes[..<count].firstIndex(of: UInt8(ascii: "\n")) ?? count
      // Shortened in place: a copy would not be cleansed.
      bytes.removeSubrange(end...)
      return bytes
    } catch {
      throw TransferFailure(.failed, "\(error)")
    }
  }

  private static func unfit(_ message: String, hint: String? = nil) -> TransferFailure {
    TransferFailure(.usage, message, hint: hint ?? howToMake)
  }

  /// The failure for a file that cannot be opened.
  static func unreadable(_ path: [UInt8], _ error: SystemError) -> TransferFailure {
    .usage("--code-file: \(VisibleText.quoted(path)) cannot be read: \(error.words)", hint: howToMake)
  }

  private static let howToMake = "Create one with 'peer code new --code-file FILE'."

  /// Writes a new code to a new file that only its owner can read; an existing file is not changed.
  static func make(_ path: [UInt8], _ code: PairingCode) throws(TransferFailure) {
    let slash = path.lastIndex(of: UInt8(ascii: "/"))
    let parent = slash.map { $0 == 0 ? [UInt8(ascii: "/")] : Array(path[..<$0]) } ?? Array(".".utf8)
    let name = slash.map { Array(path[($0 + 1)...]) } ?? path
    do throws(SystemError) {
      let file = try Directory.open(parent).createFile(name, mode: 0o600)
      try file.write(at: 0, "\(code.shown)\n".utf8.span)
      try file.synchronize()
    } catch {
      guard error.isAlreadyExisting else { throw TransferFailure(.failed, "\(error)") }
      throw TransferFailure(
        .failed, "\(VisibleText.quoted(path)) exists already, and is not changed",
        hint: "Name another file, or remove this one: a code is for one transfer.")
    }
  }
}

/// `peer code new`: a code for a script that starts both devices.
enum NewCode {
  /// Creates the code, and returns the program's exit code.
  static func make(in file: [UInt8]?) -> Int32 {
    Answer.give(json: false) { () throws(TransferFailure) in
      let code = PairingCode.random()
      guard let file else { return Rendering(standardOutput: "\(code.shown)\n") }
      try CodeFile.make(file, code)
      return Rendering()
    }
  }
}

extension Command {
  /// Parses the words after `peer code`.
  static func code(_ verb: Verb, _ arguments: Arguments) throws(TransferFailure) -> Command {
    guard verb == .codeNew else {
      guard let first = arguments.operands.first else {
        throw .usage("missing command after 'peer code'", hint: "Run 'peer code new'.")
      }
      throw unknownCodeCommand(VisibleText.of(first))
    }
    try arguments.refuseOperands()
    return .newCode(file: try arguments.codeFile())
  }

  /// An unknown command after `peer code`.
  static func unknownCodeCommand(_ word: String) -> TransferFailure {
    .usage("unknown command 'peer code \(word)'", hint: "Run 'peer code new' to create a code.")
  }
}

extension Arguments {
  /// The file of a code. It needs a name, since only its owner may read it.
  func codeFile() throws(TransferFailure) -> [UInt8]? {
    guard let file = bytes("--code-file") else { return nil }
    guard file != Array("-".utf8) else {
      throw .usage(
        "--code-file: standard input cannot be used here",
        hint: "Write the code to a file first: (umask 077; cat > FILE)")
    }
    return file
  }
}
