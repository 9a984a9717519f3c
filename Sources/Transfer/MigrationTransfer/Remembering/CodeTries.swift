import MigrationEngine
import MigrationSystem
import MigrationTLS
import MigrationWire

/// The tries of one code at this sender, over all runs that share a store (Protocol §4.3).
struct CodeTries: Sendable {
  private let store: TransferStore
  private let code: PairingCode
  private let name: Name

  /// Fails if the code is used up, and if its tries could not be counted.
  init(of code: PairingCode, in store: TransferStore) throws(Failure) {
    (self.store, self.code) = (store, code)
    name = try Name(code, salt: try store.saltOfTries())
    guard try store.withTries(of: code, name, { $0.left($1) }) > 0 else { throw .codeUsedUp }
  }

  /// Spends one try, durably. Fails if none is left.
  func spend() throws(Failure) {
    guard try store.withTries(of: code, name, { $0.spend($1) }) else { throw .codeUsedUp }
  }

  /// Gives it back: the other device has proved the code too.
  func giveBack() throws(Failure) { try store.withTries(of: code, name) { $0.giveBack($1) } }

  /// The record of spent tries.
  fileprivate struct Record: Equatable {
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
      guard salt.count == Name.saltSize else { throw Violation(.value, subject) }
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

  /// The name of a code in a record that does not show the code.
  fileprivate struct Name: Equatable, Sendable {
    static let saltSize = 16

    let salt: [UInt8]
    let check: UInt128

    init(_ code: PairingCode, salt: [UInt8]) throws(Failure) {
      self.salt = salt
      var digits = code.digits
      defer { cleanse(&digits) }
      check = try TLSError.mapped(PairingSecret.check(ofDigits: digits, salt: salt)) { Failure($0) }
    }
  }
}

extension Failure {
  fileprivate static let codeUsedUp = Failure(
    .pairing, "this code was tried three times from this device, and is used up",
    hint: "Use a new code: 'peer receive' shows one within ten minutes, and at once when it is started again.")
}

extension TransferStore {
  static let codesFolder = Array("codes".utf8)
  /// How long other senders may take to count their tries.
  private static let turn = Duration.seconds(5)

  /// The salt of the record; a new one where there is none.
  fileprivate func saltOfTries() throws(Failure) -> [UInt8] {
    let bytes = try storing { () throws(SystemError) in try Self.tries(in: openOrMakeFolder(Self.codesFolder)) }
    return try triesRecord(bytes)?.salt ?? randomBytes(CodeTries.Name.saltSize)
  }

  /// Reads and changes the tries of a code, durably, while no other sender of this store does.
  fileprivate func withTries<Result>(
    of code: PairingCode, _ known: CodeTries.Name, _ body: (inout SpentTries, UInt128) -> Result
  ) throws(Failure) -> Result {
    var name = known
    while true {
      let (salt, result) = try withTries(name, body)
      if let result { return result }
      // Another sender has made the record meanwhile, or it was removed. The name takes long, and
      // others must not wait for it.
      name = try CodeTries.Name(code, salt: salt)
    }
  }

  /// Does so if the record has the salt of the name; returns the salt of the record.
  private func withTries<Result>(
    _ name: CodeTries.Name, _ body: (inout SpentTries, UInt128) -> Result
  ) throws(Failure) -> (salt: [UInt8], result: Result?) {
    let (folder, isOurs, bytes) = try storing { () throws(SystemError) in
      let folder = try openOrMakeFolder(Self.codesFolder)
      let isOurs = try folder.directory.descriptor.lockOnceFree(within: Self.turn)
      return (folder, isOurs, try Self.tries(in: folder))
    }
    guard isOurs else {
      throw Failure(.inUse, "other senders take long to count the tries of their codes", hint: "Try again.")
    }
    let before = try triesRecord(bytes)
    var record = before ?? CodeTries.Record(salt: name.salt)
    guard record.salt == name.salt else { return (record.salt, nil) }
    let result = body(&record.tries, name.check)
    if record != before {
      let encoded = record.encoded
      try storing { () throws(SystemError) in
        try folder.directory.replaceFile(LockedTransferRecord.file, with: encoded)
        guard before == nil else { return }
        // These may be new as well.
        try Directory.open(home).synchronize()
        // A folder that was there need not be readable.
        try? Directory.open(home + Array("/..".utf8)).synchronize()
      }
    }
    return (record.salt, result)
  }

  private func triesRecord(_ bytes: [UInt8]?) throws(Failure) -> CodeTries.Record? {
    try Violation.mapped(bytes.map { bytes throws(Violation) in try CodeTries.Record(encoded: bytes) }) { _ in
      Failure(
        .failed, "the record of codes that were tried, in \(VisibleText.quoted(home)), is damaged",
        hint: "Remove its folder 'codes', and use a new code.")
    }
  }

  /// The bytes of the record; nil where there is none.
  private static func tries(in folder: SharedDirectory) throws(SystemError) -> [UInt8]? {
    try contents(of: LockedTransferRecord.file, in: folder, limit: CodeTries.Record.sizeLimit)
  }
}
