extension CommandDescription {
  static let credentials = CommandDescription(
    usage: "credentials", summary: "list and remove the credentials of apps",
    forms: [],
    blocks: [
      .text(
        """
        An app can store passwords and keys: credentials. They are sealed in PEER_HOME. Each app finds only its own, and an app
        also those of its clip. They stay when the app is removed. Secrets are never shown.
        """)
    ],
    options: [.help])

  static let credentialsList = CommandDescription(
    usage: "credentials list", summary: "list stored credentials",
    forms: [Form(.operand("[ID]"), .optional(["--json"]))],
    operands: [Operand(value: .owner)],
    blocks: [
      .text(
        """
        Lists the credentials of an app and its clips, or of all apps: the owner, the kind (password or key), the label, and
        the time when it was stored or last changed. A clip's owner is the app's identifier, an @, and the rest of the clip's
        identifier. Credentials that cannot be opened are listed too, with a note about the cause.
        """)
    ],
    options: [.json, .help],
    examples: ["peer credentials list org.example.notes"],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, also if the list is empty or a credential cannot be opened"),
      .failed, .wrongCommand,
      .init(number: 4, meaning: Surroundings.unfitHome)))

  static let credentialsRemove = CommandDescription(
    usage: "credentials remove OWNER", summary: "remove credentials",
    forms: [Form(.operand("OWNER"), .optional(["--label", "--json"]))],
    operands: [Operand(value: .owner)],
    blocks: [
      .text(
        """
        Removes the credentials of an owner, as 'peer credentials list' names it, without asking: all of them, also those that
        cannot be opened, or only those with a label.
        """)
    ],
    options: [
      .value(
        "--label", "TEXT",
        """
        Only credentials with this label. If one of the owner's cannot be opened, nothing is removed.
        """),
      .json, .help,
    ],
    examples: ["peer credentials remove org.example.notes@Clip"],
    exitCodes: ExitCodes(
      .done, .init(number: 1, meaning: "failed, also if the labels cannot be read"),
      .init(number: 2, meaning: "invalid command line, or no such credentials"),
      .init(number: 4, meaning: Surroundings.unfitHome)))
}
