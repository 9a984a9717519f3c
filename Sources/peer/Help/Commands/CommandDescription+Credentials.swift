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
    forms: [["[ID]", "[--json]"]],
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
    examples: ["peer credentials list org.example.notes"])

  static let credentialsRemove = CommandDescription(
    usage: "credentials remove OWNER", summary: "remove credentials",
    forms: [["OWNER", "[--label TEXT]", "[--json]"]],
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
    examples: ["peer credentials remove org.example.notes@Clip"])
}

extension CommandDescription {
  static let account = CommandDescription(
    usage: "account", summary: "the recorded sign-in of users, for apps",
    forms: [],
    blocks: [
      .text(
        """
        An app can ask for the state of a user's sign-in. The answer comes from a record on this device, which these
        commands change. The record is for tests and for administrators: it replaces an account with a service,
        and proves nothing.
        """)
    ],
    options: [.help])

  static let accountAuthorize = CommandDescription(
    usage: "account authorize USER", summary: "record that a user is signed in",
    forms: [["USER", "--app ID", "[--json]"]],
    operands: [Operand(value: .text)],
    blocks: [
      .text(
        """
        Records that a user is authorized for an installed app or clip. A record for a clip also applies to its app,
        unless the app has a record of its own. USER is the identifier that the app asks for.
        """)
    ],
    options: [appOfUser, .json, .help],
    examples: ["peer account authorize 001234.0f --app org.example.notes"])

  static let accountRevoke = CommandDescription(
    usage: "account revoke USER", summary: "record that a user's sign-in has ended",
    forms: [["USER", "--app ID", "[--json]"]],
    operands: [Operand(value: .text)],
    blocks: [
      .text(
        """
        Records that a user is no longer authorized. The app or clip need not be installed if it has a record of the user.
        """)
    ],
    options: [appOfUser, .json, .help],
    examples: ["peer account revoke 001234.0f --app org.example.notes"])

  static let accountList = CommandDescription(
    usage: "account list", summary: "list the recorded sign-ins",
    forms: [["[--json]"]],
    blocks: [.text("Lists the records: the app or clip, the user, and the state (authorized or revoked).")],
    options: [.json, .help])

  private static let appOfUser = Option.value("--app", "ID", .app, "The app or clip.")
}
