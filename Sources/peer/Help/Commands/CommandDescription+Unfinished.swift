extension CommandDescription {
  static let resume = CommandDescription(
    usage: "resume list", summary: "list unfinished transfers",
    forms: [Form(.operand("list"), .optional(["--json"]))],
    operands: [Operand(value: .choice([ValueKind.Choice(word: "list", text: "list unfinished transfers")]))],
    blocks: [
      .text(
        """
        Lists the unfinished transfers of this device: an ID, the source or the destination, the other device, how much
        has arrived, and the time of the last connection. To resume a transfer, run its command again; it needs no
        code.
        """)
    ],
    options: [.json, .help],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, also if the list is empty"), .failed, .wrongCommand,
      .init(number: 4, meaning: Surroundings.unfitHome)))

  static let forget = CommandDescription(
    usage: "forget ID", summary: "forget an unfinished transfer",
    forms: [Form(.operand("ID"), .optional(["--json"]))],
    operands: [Operand(value: .transfer)],
    blocks: [
      .text(
        """
        Forgets an unfinished transfer: the data received here and its keys are removed; sources are never touched. The
        other device keeps its part until the transfer is forgotten there. ID is an ID of 'peer resume list', or at least its first four digits.
        """)
    ],
    options: [.json, .help],
    exitCodes: ExitCodes(
      .done, .failed,
      .init(number: 2, meaning: "invalid command line, or no transfer or several transfers match ID"),
      .init(number: 4, meaning: "the transfer is in use, or \(Surroundings.unfitHome)")))
}

extension ExitCodes.Code {
  static let done = Self(number: 0, meaning: "done")
  static let failed = Self(number: 1, meaning: "failed")
  static let unwritten = Self(number: 1, meaning: "standard output could not be written")
  static let wrongCommand = Self(number: 2, meaning: "invalid command line")
}
