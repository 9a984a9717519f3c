import MigrationEngine
import MigrationSystem
import MigrationWire

/// The encoding of a person's answers, in the records of transfers and of known devices.
extension Consent {
  private static let subject = "a person's answers"
  private static let magic = Array("peer consent 1\n".utf8)

  /// The name of the file for one place: an answer about one place does not count for another place.
  private static func file(for place: [UInt8]) -> [UInt8] {
    var hash = SipHash(key: 0)
    hash.combine(place)
    return Array("consent-\(hash.finish().hexadecimal)".utf8)
  }

  /// A list of answers in a fixed order, each a field body.
  var encoded: [UInt8] {
    var fields = Fields()
    fields.append(1, list: answers.map { Self.encoded($0.key, $0.value) }.sorted { $0.lexicographicallyPrecedes($1) })
    fields.append(
      2,
      list: removals.map { Self.encoded($0.key, $0.value) }.sorted { $0.lexicographicallyPrecedes($1) })
    return fields.bytes
  }

  private static func encoded(_ removal: Removal, _ isAgain: Bool) -> [UInt8] {
    var fields = Fields()
    fields.append(1, Array(removal.part.utf8))
    fields.append(2, removal.root)
    fields.append(3, [isAgain ? 1 : 0])
    return fields.bytes
  }

  private static func encoded(_ subject: Subject, _ isTaken: Bool) -> [UInt8] {
    var fields = Fields()
    fields.append(1, Array(subject.part.utf8))
    fields.append(2, [subject.kind.rawValue])
    fields.append(3, [isTaken ? 1 : 0])
    fields.append(4, list: subject.places)
    return fields.bytes
  }

  init(encoded bytes: [UInt8]) throws(Violation) {
    var answers: [Subject: Bool] = [:]
    let fields = try Fields(bytes.span, 0..<bytes.count, of: Self.subject)
    for answer in try fields.list(1, Self.subject) {
      let fields = try Fields(answer.span, 0..<answer.count, of: Self.subject)
      let kind: UInt8 = try fields.requiredNumber(2, Self.subject)
      let isTaken: UInt8 = try fields.requiredNumber(3, Self.subject)
      let subject = Subject(
        part: try fields.text(1, limit: 2 * Limits.name, Self.subject), kind: ArrivalClasses(rawValue: kind),
        places: try fields.list(4, Self.subject))
      answers[subject] = isTaken == 1
    }
    var removals: [Removal: Bool] = [:]
    let removed = fields.value(2) == nil ? [] : try fields.list(2, Self.subject)
    for removal in removed {
      let fields = try Fields(removal.span, 0..<removal.count, of: Self.subject)
      let isAgain: UInt8 = try fields.requiredNumber(3, Self.subject)
      let part = try fields.text(1, limit: 2 * Limits.name, Self.subject)
      removals[Removal(part: part, root: try fields.required(2, Self.subject))] = isAgain == 1
    }
    self.init(answers, removals: removals)
  }

  /// Reads the file in a known device's folder; no answers where there is none, or it is damaged.
  fileprivate init(in device: borrowing Directory, for place: [UInt8]) {
    let limit = TransferRecord.sizeLimit
    guard let file = try? device.openChild(Self.file(for: place)).readAll(limit: limit),
      let fields = try? RecordFile.decode(file, magics: [Self.magic], of: Self.subject).fields,
      let consent = try? Consent(encoded: fields.required(1, Self.subject))
    else {
      self.init()
      return
    }
    self = consent
  }

  fileprivate func write(to device: borrowing Directory, for place: [UInt8]) throws(SystemError) {
    var fields = Fields()
    fields.append(1, encoded)
    try device.replaceFile(Self.file(for: place), with: RecordFile.encode(fields, magic: Self.magic))
    try device.synchronize()
  }
}

extension TransferStore {
  /// What a person has answered about a known device's transfers to a place. A damaged record has no
  /// answers: what it covered is asked again, or refused.
  func consent(of peer: KeyFingerprint, at place: [UInt8]) throws(Failure) -> Consent {
    guard device(peer, as: .receiver) != nil, let directory = try deviceFolder(peer) else { return Consent() }
    return Consent(in: directory.directory, for: place)
  }

  /// Keeps a person's answers for the next plan of a known device to the same place, durably.
  func keep(_ consent: Consent, of peer: KeyFingerprint, at place: [UInt8]) throws(Failure) {
    guard consent != Consent(), device(peer, as: .receiver) != nil, let directory = try deviceFolder(peer) else {
      return
    }
    try storing { () throws(SystemError) in
      let all = consent.following(Consent(in: directory.directory, for: place))
      try all.write(to: directory.directory, for: place)
    }
  }
}
