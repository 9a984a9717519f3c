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
    forms: [Form(.operand("USER"), .required("--app"), .optional(["--json"]))],
    operands: [Operand(value: .text)],
    blocks: [
      .text(
        """
        Records that a user is authorized for an installed app or clip. A record for a clip also applies to its app,
        unless the app has a record of its own. USER is the identifier that the app asks for.
        """)
    ],
    options: [appOfUser, .json, .help],
    examples: ["peer account authorize 001234.0f --app org.example.notes"],
    exitCodes: ExitCodes(.done, .failed, .noSuchApp, .refusedRecord, .noSpaceLeft))

  static let accountRevoke = CommandDescription(
    usage: "account revoke USER", summary: "record that a user's sign-in has ended",
    forms: [Form(.operand("USER"), .required("--app"), .optional(["--json"]))],
    operands: [Operand(value: .text)],
    blocks: [
      .text(
        """
        Records that a user is no longer authorized. The app or clip need not be installed if it has a record of the user.
        """)
    ],
    options: [appOfUser, .json, .help],
    examples: ["peer account revoke 001234.0f --app org.example.notes"],
    exitCodes: ExitCodes(.done, .failed, .noSuchApp, .refusedRecord, .noSpaceLeft))

  static let accountList = CommandDescription(
    usage: "account list", summary: "list the recorded sign-ins",
    forms: [Form(.optional(["--json"]))],
    blocks: [.text("Lists the records: the app or clip, the user, and the state (authorized or revoked).")],
    options: [.json, .help],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, also if the list is empty"), .failed, .wrongCommand,
      .init(number: 4, meaning: Surroundings.unfitHome)))

  private static let appOfUser = Option.value("--app", "ID", .app, "The app or clip.")
}

extension ExitCodes.Code {
  fileprivate static let refusedRecord = Self(
    number: 4, meaning: "the app's bundle is damaged, its record is full, or PEER_HOME cannot be used")
  fileprivate static let noSpaceLeft = Self(number: 6, meaning: "not enough space")
}
