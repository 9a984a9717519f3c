extension CommandDescription {
  static let app = CommandDescription(
    usage: "app", summary: "install, run, check and migrate apps",
    forms: [],
    blocks: [
      .text(
        """
        An app with a migration extension can be moved with its data from one device to another. Each app has its data
        in its own container. A clip is a small edition of an app that can be installed before the app. When the app is
        installed, the clip is removed, and the app keeps the data that they shared.
        """)
    ],
    options: [.help])

  static let appInstall = CommandDescription(
    usage: "app install BUNDLE", summary: "install or update an app",
    forms: [["BUNDLE", "[--json]"]],
    operands: [Operand(value: .directory)],
    blocks: [
      .text(
        """
        Installs an app from its bundle, or replaces the installed version with another one; the app's data stays. An
        app that is running, or whose data is being migrated, is not changed.

        An app replaces its clip: the clip and its own data are removed, and their groups stay. A group of a clip belongs
        only to the clip and its app, from the clip's installation until the group's directory is removed.
        """),
      .lines(
        """
        A bundle is a directory:
          Info.plist
            CFBundleIdentifier, CFBundleShortVersionString, CFBundleExecutable
            PeerPlatform, PeerStoreIdentifier, PeerAliases (optional)
          Entitlements.plist (optional)
            com.apple.security.application-groups
            com.apple.developer.associated-appclip-app-identifiers:
              an array of one: the app's clip
            in a clip, com.apple.developer.parent-application-identifiers:
              an array of one: its app; the clip's identifier is the app's,
              a dot, and a suffix
          the app's program, named by CFBundleExecutable, and its files
          Extensions/NAME.appex/, if its data can be migrated; not in a clip
            Info.plist
              CFBundleIdentifier, CFBundleExecutable, EXAppExtensionAttributes:
              EXExtensionPointIdentifier is com.apple.app-migration
            Entitlements.plist
              com.apple.developer.app-migration.data-container-access:
              an array of one: the app's identifier
            the extension's program
        Extensions of other kinds may be next to it; they are ignored.
        """),
    ],
    options: [.json, .help],
    examples: ["peer app install ./Notes.app"])

  static let appList = CommandDescription(
    usage: "app list", summary: "list installed apps",
    forms: [["[--all]", "[--json]"]],
    blocks: [
      .text(
        """
        Lists the installed apps and clips: identifier, version, name, how the last import into each ended, and its use
        at the moment. With --all, also the apps of which a description or a Flatpak's identifier says where their data
        lies in your home directory, with the size of the data.
        """)
    ],
    options: [.flag("--all", "Also list Flatpaks and described apps with data."), .json, .help])

  static let appRun = CommandDescription(
    usage: "app run ID [ARGS...]", summary: "start an app",
    forms: [["ID", "[ARGS...]"]],
    operands: [Operand(value: .app), Operand(value: .path, isRepeatable: true)],
    blocks: [
      .text(
        """
        Starts an app with its container as its home; the app replaces this process. All arguments after ID, also
        options, go to the app. An app whose data is being migrated cannot be started. An interrupted import is undone
        first. If an app has replaced its clip, the clip's ID starts the app, and a note says so.
        """)
    ],
    options: [.help("Show the help text. After ID, this option goes to the app.")],
    examples: ["peer app run org.example.notes today.txt"],
    exitCodes: ExitCodeTable(
      others: "the app's", .failed, .init(number: 2, meaning: "invalid command line, or no such app"),
      .init(number: 4, meaning: "its data is being migrated, or PEER_HOME cannot be used")))

  static let appStatus = CommandDescription(
    usage: "app status ID", summary: "show the result of the last import",
    forms: [["ID", "[--clear]", "[--json]"]],
    operands: [Operand(value: .app)],
    blocks: [
      .text(
        """
        Shows the result of the last import into an app, until the app clears it, and whether an import is running or was
        interrupted.
        """)
    ],
    options: [.flag("--clear", "Show the result, then clear it."), .json, .help])

  static let appRemove = CommandDescription(
    usage: "app remove ID", summary: "remove an app and its data",
    forms: [["ID", "[--credentials]", "[--json]"]],
    operands: [Operand(value: .app)],
    blocks: [
      .text(
        """
        Removes an app or a clip with all of its data, without asking. The data that a group of apps shares is removed
        with the last of them. Credentials stay, and the command names their owner: the app finds them again when it is
        installed again.
        """)
    ],
    options: [
      .flag("--credentials", "Also remove its credentials and those of its clips."), .json, .help,
    ])

  static let appNew = CommandDescription(
    usage: "app new DIR", summary: "create the package of a new app",
    forms: [["DIR", "[--id ID]", "[OPTION]..."]],
    operands: [Operand(value: .directory)],
    blocks: [
      .text(
        """
        Creates a Swift package with a small app, its migration extension, the extension's tests, and a script that
        assembles the bundle. The package builds, passes its tests, and can migrate at once. DIR must be new or an empty
        folder; its name becomes the name of the app.
        """)
    ],
    options: [
      .value("--id", "ID", "The app's identifier (default: org.example. and the folder's name)."),
      .value(
        "--package", "PATH", .directory,
        """
        The folder of the package that contains AppMigrationKit (default: the clone in which this program was built, or
        the package that was installed with it).
        """),
      .json, .help,
    ],
    examples: ["peer app new ./Notes --id com.example.notes"])
}
