extension CommandDescription {
  static let resume = CommandDescription(
    usage: "resume list", summary: "unfinished transfers",
    forms: [Form(.operand("list"), .optional(["--json"]))],
    operands: [Operand(value: .choice([ValueKind.Choice(word: "list", text: "unfinished transfers")]))],
    blocks: [
      .text(
        """
        Shows the transfers of this device that are not over: an ID, what is sent or where it arrives, the other device, how
        much has arrived, and when it was last connected. To go on with one, run its command again; it asks for no code.
        """)
    ],
    options: [.json, .help],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, also if there is none"), .failed, .wrongCommand,
      .init(number: 4, meaning: Surroundings.unfitHome)))

  static let forget = CommandDescription(
    usage: "forget ID", summary: "give up an unfinished transfer",
    forms: [Form(.operand("ID"), .optional(["--json"]))],
    operands: [Operand(value: .transfer)],
    blocks: [
      .text(
        """
        Gives up an unfinished transfer: what has arrived of it here is removed, and its keys with it. The other device
        keeps its half until it is forgotten there. ID is what 'peer resume list' shows, or its first digits, at least four.
        """)
    ],
    options: [.json, .help],
    exitCodes: ExitCodes(
      .done, .failed,
      .init(number: 2, meaning: "the command line is wrong, or no transfer or more than one has such an ID"),
      .init(number: 4, meaning: "the transfer is in use, or \(Surroundings.unfitHome)")))
}

extension ExitCodes.Code {
  static let done = Self(number: 0, meaning: "done")
  static let failed = Self(number: 1, meaning: "failed")
  static let unwritten = Self(number: 1, meaning: "standard output could not be written")
  static let wrongCommand = Self(number: 2, meaning: "the command line is wrong")
}
