import MigrationTransfer

/// The commands for authors of apps.
extension CommandDescription {
  static let appCheck = CommandDescription(
    usage: "app check BUNDLE", summary: "what its author should know of an app's bundle",
    forms: [Form(.operand("BUNDLE"), .optional(["--container", "--idle-limit", "--no-confine", "--json"]))],
    operands: [Operand(value: .directory)],
    blocks: [
      .text(
        """
        Names everything that is wrong with an app's bundle, installed or not. If nothing is, starts its migration extension,
        and shows what that can do, its estimate and its version, and what its archive would hold: it exports as in a
        migration, and what it appends is read and thrown away. Appends that were refused, an estimate that is off by more
        than half, and temporary files that the exporter leaves are named.
        """),
      .text(
        """
        The data is that of the app with the same identifier in PEER_HOME, which is only read, and must not run meanwhile;
        that of --container; or an empty container. What the extension writes is shown.
        """),
    ],
    options: [
      .value(
        "--container", "DIR", .directory,
        "Export what is in this directory, as if it were the app's container. The groups are empty then."),
      idleLimit, noConfine, .json, .help,
    ],
    examples: ["peer app check ./Notes.app", "peer app check ./Notes.app --container ./samples"],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "nothing is wrong, whatever was noted"), .failed,
      .init(number: 2, meaning: "the command line is wrong, or there is no such directory"),
      .init(
        number: 4,
        meaning: """
          the bundle is not made as it must be, the extension does not start or can do nothing, the app is in use, or PEER_HOME
          is not fit
          """),
      .init(number: 6, meaning: "there is not enough space"),
      .init(number: 9, meaning: "the exporter failed"), .init(number: 130, meaning: "interrupted by Ctrl-C"),
      .init(number: 143, meaning: "ended by SIGTERM")))

  static let appMigrate = CommandDescription(
    usage: "app migrate ID", summary: "try a migration on this device",
    forms: [
      Form(
        .operand("ID"), .required("--to"),
        .optional(["--home", "--as", "--option", "--replace", "--idle-limit", "--no-confine", "--json"]))
    ],
    operands: [Operand(value: .app)],
    blocks: [
      .text(
        """
        Installs an app from its bundle in a PEER_HOME of its own and migrates the data of an installed app to it, as
        'peer send' and 'peer receive' would, both ends in this process. The two may have different identifiers if the
        PeerAliases of the one that gets the data say so. The data that is there is only read. What the extensions write is
        shown behind exporter and importer. At the end stands where the app with its data is, and how it is started.
        """),
      .text(
        """
        If the bundle is another edition of the app with this ID, its extension exports too; else that of the installed app
        does.
        """),
    ],
    options: [
      .value("--to", "BUNDLE", .directory, "The bundle of the app that gets the data."),
      .value(
        "--home", "DIR", .directory,
        """
        The PEER_HOME for that app, which may be there from an earlier try. It may not be in the PEER_HOME of the data, nor
        have that in it. Without it: a new directory among the temporary files, which stays; rm -r removes it.
        """),
      .value(
        "--as", "PLATFORM[,STORE]", .word(platforms),
        """
        Let the importer be told that the data comes from this platform, as by 'peer send'. Without a store: that of the
        platform, if it has one.
        """),
      .repeatable("--option", "NAME=VALUE", "Something for the exporter, as by 'peer receive'."),
      .flag(
        "--replace", "Set data that the app has aside; it comes back if the import fails."),
      idleLimit, noConfine, .json, .help,
    ],
    examples: [
      "peer app migrate org.example.notes --to ./Notes.app",
      "peer app migrate org.example.notes --to ./Notes.app --as android",
    ],
    exitCodes: ExitCodes(
      .done, .failed, .init(number: 2, meaning: "the command line is wrong, or there is no such app or bundle"),
      .init(
        number: 4,
        meaning: "an app is in use, its bundle or a home is not fit, or the app that gets the data has some already"),
      .init(number: 6, meaning: "there is not enough space"),
      .init(number: 7, meaning: "the importer failed"), .init(number: 8, meaning: "some items did not arrive"),
      .init(number: 9, meaning: "the exporter failed"), .init(number: 130, meaning: "interrupted by Ctrl-C"),
      .init(number: 143, meaning: "ended by SIGTERM")))

  private static let idleLimit = Option.value(
    "--idle-limit", "TIME",
    "How long the exporter may append nothing before it is ended; off for no limit, while it is debugged.")

  private static let noConfine = Option.flag(
    "--no-confine",
    """
    Do not keep the extension from what it need not reach, so that a debugger can be attached to it: it may do what you
    may.
    """)
}
