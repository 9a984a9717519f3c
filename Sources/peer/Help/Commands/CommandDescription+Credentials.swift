extension CommandDescription {
  static let credentials = CommandDescription(
    usage: "credentials", summary: "what apps have stored in secret",
    forms: [],
    blocks: [
      .text(
        """
        An app can store passwords and keys: credentials. They are sealed in PEER_HOME, and each app finds its own alone, and an
        app those of its clip. They stay when the app is removed. No secret is ever shown.
        """)
    ],
    options: [.help])

  static let credentialsList = CommandDescription(
    usage: "credentials list", summary: "whose credentials there are",
    forms: [Form(.operand("[ID]"), .optional(["--json"]))],
    operands: [Operand(value: .owner)],
    blocks: [
      .text(
        """
        Shows the credentials of an app and its clips, or of all apps: the owner, whether it is a password or a key, the label,
        and when it was stored or last changed. A clip's owner is the app's identifier, an @, and what the clip's has besides.
        What cannot be opened is shown as well, and a note says why.
        """)
    ],
    options: [.json, .help],
    examples: ["peer credentials list org.example.notes"],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, also if there is none, or one cannot be opened"), .failed, .wrongCommand,
      .init(number: 4, meaning: Surroundings.unfitHome)))

  static let credentialsRemove = CommandDescription(
    usage: "credentials remove OWNER", summary: "remove credentials",
    forms: [Form(.operand("OWNER"), .optional(["--label", "--json"]))],
    operands: [Operand(value: .owner)],
    blocks: [
      .text(
        """
        Removes the credentials of an owner, as 'peer credentials list' names it, without asking: all of them, also those that
        cannot be opened, or those with a label.
        """)
    ],
    options: [
      .value(
        "--label", "TEXT",
        """
        Only those with this label. All of the owner's must be such that they can be opened; else nothing is removed.
        """),
      .json, .help,
    ],
    examples: ["peer credentials remove org.example.notes@Clip"],
    exitCodes: ExitCodes(
      .done, .init(number: 1, meaning: "failed, also where those with a label cannot be found out"),
      .init(number: 2, meaning: "the command line is wrong, or there are no such credentials"),
      .init(number: 4, meaning: Surroundings.unfitHome)))
}
