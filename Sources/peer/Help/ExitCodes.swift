/// The exit codes of a command, and their meanings.
struct ExitCodes: Sendable {
  struct Code: Sendable {
    let number: Int
    /// A clause, or several clauses with semicolons.
    let meaning: String
    /// Whether the received data is kept.
    var isKept = false
  }

  /// Other codes, named before the first code.
  var others: String?
  let codes: [Code]

  init(others: String? = nil, _ codes: Code...) {
    self.others = others
    self.codes = codes
  }

  /// Whether there are so many that they stand one below the other.
  var isTable: Bool { codes.contains { $0.isKept } }

  /// A few codes as one sentence.
  var sentence: String {
    let codes = codes.map { "\($0.number) \($0.meaning)" }.joined(separator: "; ")
    return (others.map { "\($0); or " } ?? "") + codes + "."
  }

  /// The meaning of the mark at some codes.
  static let kept = "The received data is kept. The same command resumes the transfer."

  /// The codes of a transfer.
  static let transfer = ExitCodes(
    Code(number: 0, meaning: "done"),
    Code(
      number: 1,
      meaning: """
        failed, here or on the other device; after a disk error, the received data is kept: repair the disk, then resume with
        the same command
        """),
    Code(number: 2, meaning: "invalid command line"),
    Code(number: 3, meaning: "the devices are not paired: no code, a wrong code, or another device"),
    Code(
      number: 4,
      meaning: "refused by the other device, or the destination, an app's extension or PEER_HOME cannot be used"),
    Code(
      number: 5, meaning: "the connection was lost, or the other device's user interrupted the transfer", isKept: true),
    Code(number: 6, meaning: "not enough space", isKept: true),
    Code(number: 7, meaning: "all data has arrived, but could not be put in place"),
    Code(
      number: 8,
      meaning: """
        done, but some items could not be sent or stored; sockets, FIFOs and devices are never sent, and do not count
        """),
    Code(number: 9, meaning: "the source could not be read completely", isKept: true),
    Code(number: 130, meaning: "interrupted by Ctrl-C", isKept: true),
    Code(number: 143, meaning: "terminated by SIGTERM", isKept: true))
}
