import MigrationEngine
import MigrationSystem
import MigrationTransfer
import MigrationWire

/// A code that a script has made for both devices, in a file.
///
/// The receiver takes it as a secret: from a regular file of the user's own that no other user can read or change. A link may be
/// another user's, who would choose the code.
enum CodeFile {
  /// How long a file may be: more is no file with a code.
  private static let sizeLimit = 4096

  /// Reads the code in the first line of a file.
  static func read(_ path: [UInt8], owner: UInt32 = CurrentProcess.effectiveUserID) throws(TransferFailure)
    -> PairingCode
  {
    let name = VisibleText.quoted(path)
    let file = try open(path)
    guard let status = try? file.status() else { throw unfit("\(name) cannot be looked at") }
    guard status.kind == .regular else { throw unfit("\(name) is no regular file") }
    guard status.owner == owner else { throw unfit("\(name) belongs to another user") }
    guard status.mode & 0o077 == 0 else {
      throw unfit("other users can use \(name)", hint: "Take that from them: chmod 600 \(VisibleText.listed(path))")
    }
    guard status.size <= sizeLimit else { throw unfit("\(name) is too long for a file with a code") }
    return try CodeEntry.check(try firstLine(file, Int(status.size)), from: name, hint: howToMake)
  }

  private static func open(_ path: [UInt8]) throws(TransferFailure) -> Descriptor {
    do throws(SystemError) {
      // A pipe without a writer would be waited for.
      return try Descriptor.open(path, [.readOnly, .nonBlocking])
    } catch {
      guard error.isSymbolicLink else { throw TransferFailure(.failed, "\(error)") }
      throw unfit("\(VisibleText.quoted(path)) is a link, and a code is taken from a file itself")
    }
  }

  private static func firstLine(_ file: borrowing Descriptor, _ size: Int) throws(TransferFailure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    var target = bytes.mutableSpan
    do throws(SystemError) {
      let count = try unsafe target.withUnsafeMutableBytes { (buffer) throws(SystemError) in
        try unsafe file.readFully(at: 0, into: buffer)
      }
      return Array(bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") })
    } catch {
      throw TransferFailure(.failed, "\(error)")
    }
  }

  private static func unfit(_ message: String, hint: String? = nil) -> TransferFailure {
    TransferFailure(.refused, message, hint: hint ?? howToMake)
  }

  private static let howToMake = "Make one with 'peer code new --code-file FILE'."

  /// Writes a new code to a new file that is for its owner alone; what is there is left as it is.
  static func make(_ path: [UInt8], _ code: PairingCode) throws(TransferFailure) {
    let slash = path.lastIndex(of: UInt8(ascii: "/"))
    let parent = slash.map { $0 == 0 ? [UInt8(ascii: "/")] : Array(path[..<$0]) } ?? Array(".".utf8)
    let name = slash.map { Array(path[($0 + 1)...]) } ?? path
    do throws(SystemError) {
      let file = try Directory.open(parent).createFile(name, mode: 0o600)
      try unsafe file.write(at: 0, Array("\(code.shown)\n".utf8).span.bytes)
      try file.synchronize()
    } catch {
      guard error.isAlreadyExisting else { throw TransferFailure(.failed, "\(error)") }
      throw TransferFailure(
        .failed, "\(VisibleText.quoted(path)) is there already, and is left as it is",
        hint: "Name another file, or remove it; a code is for one transfer.")
    }
  }
}

/// `peer code new`: a code for two devices and the script that starts both.
enum NewCode {
  /// Makes it, and returns the program's exit code.
  static func make(in file: [UInt8]?) -> Int32 {
    Answer.give(json: false) { () throws(TransferFailure) in
      let code = PairingCode.random()
      guard let file else { return Rendering(standardOutput: "\(code.shown)\n") }
      try CodeFile.make(file, code)
      return Rendering()
    }
  }
}
