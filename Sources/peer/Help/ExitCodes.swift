/// What the numbers mean with which a command ends.
struct ExitCodes: Sendable {
  struct Code: Sendable {
    let number: Int
    /// A clause, or several with semicolons between them.
    let meaning: String
    /// Whether what has arrived is kept then.
    var isKept = false
  }

  /// What else it may end with, before the first code.
  var others: String?
  let codes: [Code]

  init(others: String? = nil, _ codes: Code...) {
    self.others = others
    self.codes = codes
  }

  /// Whether they are many, and stand one below the other.
  var isTable: Bool { codes.contains { $0.isKept } }

  /// Those of a few codes as one sentence.
  var sentence: String {
    let codes = codes.map { "\($0.number) \($0.meaning)" }.joined(separator: "; ")
    return (others.map { "\($0); or " } ?? "") + codes + "."
  }

  /// What is said of the codes that are marked.
  static let kept = "What has arrived is kept. The same command goes on with it."

  /// Those of a transfer.
  static let transfer = ExitCodes(
    Code(number: 0, meaning: "done"),
    Code(
      number: 1,
      meaning: """
        failed, here or on the other device; where a disk failed, what has arrived is kept, and the same command goes on
        once that is mended
        """),
    Code(number: 2, meaning: "the command line is wrong"),
    Code(number: 3, meaning: "the devices are not paired: no code, a wrong one, or another device"),
    Code(
      number: 4, meaning: "refused by the other device, or the destination, an app's extension or PEER_HOME is not fit"),
    Code(number: 5, meaning: "the connection was lost, or the other device's user interrupted it", isKept: true),
    Code(number: 6, meaning: "there is not enough space", isKept: true),
    Code(number: 7, meaning: "everything has arrived, but could not be put in place"),
    Code(
      number: 8,
      meaning: """
        done, but some items could not be sent or stored; sockets, FIFOs and devices are never sent, and do not count
        """),
    Code(number: 9, meaning: "the source could not be read to its end", isKept: true),
    Code(number: 130, meaning: "interrupted by Ctrl-C", isKept: true),
    Code(number: 143, meaning: "ended by SIGTERM", isKept: true))
}
