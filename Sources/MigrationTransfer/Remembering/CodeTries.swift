import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The tries of one code at this sender, over all runs that share a store (Protocol §4.3).
struct CodeTries: Sendable {
  private let store: TransferStore
  private let code: PairingCode
  private let name: CodeName

  /// Fails if the code is used up, and if its tries could not be counted.
  init(of code: PairingCode, in store: TransferStore) throws(Fault) {
    (self.store, self.code) = (store, code)
    let (name, left) = try store.withTries(of: code) { tries, check in tries.left(check) }
    self.name = name
    guard left > 0 else { throw .codeUsedUp }
  }

  /// Spends one try, durably. Fails if none is left.
  func spend() throws(Fault) {
    guard try store.withTries(of: code, name, { $0.spend($1) }).result else { throw .codeUsedUp }
  }

  /// Gives it back: the other device has proved the code too.
  func giveBack() throws(Fault) { _ = try store.withTries(of: code, name) { $0.giveBack($1) } }
}

extension Fault {
  fileprivate static let codeUsedUp = Fault(
    .pairing, "this code was tried three times from this device, and is used up",
    hint: "Use a new code: 'peer receive' shows one within ten minutes, and at once when it is started again.")
}

/// The name of a code in a record that does not show the code.
private struct CodeName: Equatable, Sendable {
  static let saltSize = 16

  let salt: [UInt8]
  let check: UInt128

  init(_ code: PairingCode, salt: [UInt8]) throws(TLSError) {
    self.salt = salt
    var digits = code.digits
    defer { cleanse(&digits) }
    check = try PairingSecret.check(ofDigits: digits, salt: salt)
  }
}

/// The record of spent tries.
private struct TriesRecord: Equatable {
  private static let magic = Array("peer tries 1\n".utf8)
  private static let subject = "the tries of codes"
  static let sizeLimit = 1 << 16

  let salt: [UInt8]
  var tries = SpentTries()

  init(salt: [UInt8]) { self.salt = salt }

  init(encoded bytes: [UInt8]) throws(Violation) {
    let subject = Self.subject
    let fields = try RecordFile.decode(bytes, magics: [Self.magic], of: subject).fields
    salt = try fields.required(1, subject)
    guard salt.count == CodeName.saltSize else { throw Violation(.value, subject) }
    tries = try fields.readRequired(2, subject) { reader, bytes throws(Violation) in
      var codes: [SpentTries.Code] = []
      while !reader.isAtEnd {
        codes.append(SpentTries.Code(check: try reader.u128(bytes), tries: Int(try reader.u8(bytes))))
      }
      return SpentTries(codes)
    }
  }

  var encoded: [UInt8] {
    var fields = Fields()
    fields.append(1, salt)
    fields.append(2) { writer in
      for code in tries.codes {
        writer.u128(code.check)
        writer.u8(UInt8(clamping: code.tries))
      }
    }
    return RecordFile.encode(fields, magic: Self.magic)
  }
}

extension TransferStore {
  private static let codesFolder = Array("codes".utf8)
  /// How long other senders may take to count their tries.
  private static let turn = Duration.seconds(5)

  /// Reads and changes the tries of a code, durably, while no other sender of this store does.
  fileprivate func withTries<Result>(
    of code: PairingCode, _ known: CodeName? = nil, _ body: (inout SpentTries, UInt128) -> Result
  ) throws(Fault) -> (name: CodeName, result: Result) {
    let (folder, isOurs, bytes) = try storing { () throws(SystemError) in
      let folder = try openOrMakeFolder(Self.codesFolder)
      let isOurs = try folder.directory.descriptor.lockOnceFree(within: Self.turn)
      return (folder, isOurs, try Self.tries(in: folder))
    }
    guard isOurs else {
      throw Fault(.inUse, "other senders take long to count the tries of their codes", hint: "Try again.")
    }
    let before = try Violation.mapped(bytes.map { bytes throws(Violation) in try TriesRecord(encoded: bytes) }) { _ in
      Fault(
        .device, "the record of codes that were tried, in \(VisibleText.quoted(home)), is damaged",
        hint: "Remove its folder 'codes', and use a new code.")
    }
    var record = before ?? TriesRecord(salt: randomBytes(CodeName.saltSize))
    // A record that was removed meanwhile comes again with another salt.
    let name: CodeName
    if let known, known.salt == record.salt {
      name = known
    } else {
      name = try TLSError.mapped(CodeName(code, salt: record.salt)) { Fault($0) }
    }
    let result = body(&record.tries, name.check)
    if record != before {
      let encoded = record.encoded
      try storing { () throws(SystemError) in
        try folder.directory.replaceFile(TransferEntry.file, with: encoded)
        if before == nil { try Directory.open(home).synchronize() }
      }
    }
    return (name, result)
  }

  /// The bytes of the record; nil where there is none.
  private static func tries(in folder: SharedDirectory) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) {
      return try folder.directory.openChild(TransferEntry.file).readAll(limit: TriesRecord.sizeLimit)
    } catch {
      if error.isNotFound { return nil }
      throw error
    }
  }
}
