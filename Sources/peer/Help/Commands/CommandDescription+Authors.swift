import MigrationTransfer

/// The commands for authors of apps.
extension CommandDescription {
  static let appCheck = CommandDescription(
    usage: "app check BUNDLE", summary: "check an app's bundle and its export",
    forms: [["BUNDLE", "[--container DIR]", "[OPTION]..."]],
    operands: [Operand(value: .directory)],
    blocks: [
      .text(
        """
        Names every error in an app's bundle, installed or not. If there is none, starts the bundle's migration extension
        and shows its abilities, its estimate, its version, and the contents of its archive. The extension exports as in a
        migration; the data is read and discarded. Notes name groups that only one of the app and its extension lists,
        appends that failed, settings that are not appended, names that look percent-encoded, an export without data, an
        estimate that is off by more than half, and temporary files that the exporter leaves.
        """),
      .text(
        """
        The data is that of the app with the same identifier in PEER_HOME, that of --container, or an empty container. The
        data of the app is only read, and the app must not run meanwhile. The output of the extension is shown.
        """),
    ],
    options: [
      .value(
        "--container", "DIR", .directory,
        "Export this directory, as if it were the app's container. The groups are then empty."),
      .value(
        "--extract", "DIR", .directory,
        """
        Keep the archive in this folder, new or empty, as an importer gets it, and list its items. 'peer app migrate' and
        tests can import it.
        """),
      .flag("--strict", "Take a note on the app for an error (exit code 4)."),
      platform, option, idleLimit, noConfine, .json, .help,
    ],
    examples: ["peer app check ./Notes.app", "peer app check ./Notes.app --container ./samples"],
    exitCodes: ExitCodeTable(
      .init(number: 0, meaning: "no errors; without --strict, there may be notes"), .failed,
      .init(number: 2, meaning: "invalid command line, or no such directory"),
      .init(
        number: 4,
        meaning: """
          the bundle is invalid, the extension does not start or has no abilities, the app is in use, the folder of
          --extract is not empty, there are notes with --strict, or PEER_HOME cannot be used
          """),
      .noSpaceLeft, .init(number: 9, meaning: "the exporter failed"), .interrupted, .terminated))

  static let appMigrate = CommandDescription(
    usage: "app migrate ID", summary: "try a migration on this device",
    forms: [["ID", "--to BUNDLE", "[OPTION]..."]],
    operands: [Operand(value: .app)],
    blocks: [
      .text(
        """
        Installs an app from its bundle in a PEER_HOME of its own, and migrates the data of an installed app to it, as
        'peer send' and 'peer receive' would. Both ends run in this process. The two apps may have different identifiers if
        the PeerAliases of the receiving app allow it. The existing data is only read. The output of the extensions is shown
        with the prefixes exporter and importer. At the end, the command shows the directory of the app with its data, and
        how to start the app.
        """),
      .text(
        """
        The extension of the installed app exports, and that of the bundle imports; the first line names both with their
        versions. With --bundle-exports, the extension in the bundle exports too, which must be another edition of the app
        with this ID. With --archive, nothing exports.
        """),
    ],
    options: [
      .value("--to", "BUNDLE", .directory, "The bundle of the receiving app."),
      .flag("--bundle-exports", "Let the extension in the bundle export, too, to try a changed exporter."),
      .value(
        "--archive", "DIR", .directory,
        """
        Import this folder in the place of an export, such as one that 'peer app check' has extracted. ID need not be
        installed.
        """),
      .value(
        "--archive-version", "VERSION", .text,
        "The version of that archive's data, which the importer gets (default: an empty one)."),
      .value(
        "--home", "DIR", .directory,
        """
        The PEER_HOME for the receiving app; it may exist from an earlier run. It must be neither inside the PEER_HOME of the
        data nor above it (default: a new directory among the temporary files, which stays; remove it with rm -r).
        """),
      .value(
        "--as", "PLATFORM[,STORE]", .word(platforms),
        """
        The platform that the importer gets as the source of the data, as with 'peer send'. The default STORE is that of the
        platform, if it has one.
        """),
      platform, option,
      .flag(
        "--replace", "Set aside the data that the app has; it is restored if the import fails."),
      idleLimit, noConfine, .json, .help,
    ],
    examples: [
      "peer app migrate org.example.notes --to ./Notes.app",
      "peer app migrate org.example.notes --to ./Notes.app --as android",
    ],
    exitCodes: ExitCodeTable(
      .done, .failed, .init(number: 2, meaning: "invalid command line, or no such app or bundle"),
      .init(
        number: 4,
        meaning: "an app is in use, its bundle or a PEER_HOME cannot be used, or the receiving app already has data"),
      .noSpaceLeft, .init(number: 7, meaning: "the importer failed"),
      .init(number: 8, meaning: "some items did not arrive"), .init(number: 9, meaning: "the exporter failed"),
      .interrupted, .terminated))

  private static let platform = Option.value(
    "--platform", "NAME", .word(platforms), "The destination's platform for the exporter (default: linux).")

  private static let option = Option.repeatable(
    "--option", "NAME=VALUE", "An option for the exporter, as with 'peer receive'.")

  private static let idleLimit = Option.value(
    "--idle-limit", "TIME",
    "How long the exporter may append nothing before it is ended (default: 20s); off for no limit, for debugging.")

  private static let noConfine = Option.flag(
    "--no-confine",
    """
    Do not confine the extension, so that a debugger can attach to it: the extension may then do everything that you may
    do.
    """)
}
