extension CommandDescription {
  static let app = CommandDescription(
    usage: "app", summary: "apps that can be migrated",
    forms: [],
    blocks: [
      .text(
        """
        An app whose author has written a migration extension can be moved with its data from one device to another. Each
        app has its data in a container of its own. A clip is a small edition of an app that is there before the app is:
        once the app is installed, the clip is gone, and the app has what they shared.
        """)
    ],
    options: [.help])

  static let appInstall = CommandDescription(
    usage: "app install BUNDLE", summary: "install an app, or another version of it",
    forms: [Form(.operand("BUNDLE"), .optional(["--json"]))],
    operands: [Operand(value: .directory)],
    blocks: [
      .text(
        """
        Installs an app from its bundle, or puts another version in the place of the one that is there; its data stays. An
        app that runs, or whose data is being migrated, is left as it is.

        An app takes the place of its clip: the clip and its own data go, and their groups stay. A group of a clip belongs
        to the clip and its app alone, from the clip's installation until the group's directory goes.
        """),
      .lines(
        """
        A bundle is a directory:
          Info.plist
            CFBundleIdentifier, CFBundleShortVersionString, CFBundleExecutable
            PeerPlatform, PeerStoreIdentifier, PeerAliases, if they are needed
          Entitlements.plist, which may be missing
            com.apple.security.application-groups
            com.apple.developer.associated-appclip-app-identifiers:
              an array of the app's clip alone
            in a clip, com.apple.developer.parent-application-identifiers:
              an array of its app alone; the clip's identifier is the app's,
              a dot, and more
          the app's program, named by CFBundleExecutable, and its files
          Extensions/NAME.appex/, if its data can be migrated; never in a clip
            Info.plist
              CFBundleIdentifier, CFBundleExecutable, EXAppExtensionAttributes:
              EXExtensionPointIdentifier is com.apple.app-migration
            Entitlements.plist
              com.apple.developer.app-migration.data-container-access:
              an array of the app's identifier alone
            the extension's program
        Extensions of other kinds may stand beside it, and are ignored.
        """),
    ],
    options: [.json, .help],
    examples: ["peer app install ./Notes.app"],
    exitCodes: ExitCodes(
      .done, .failed, .init(number: 2, meaning: "the command line is wrong, or there is no such directory"),
      .init(
        number: 4,
        meaning:
          """
          the bundle is not made as it must be or does not go with another one that is installed, the app or its clip is in
          use, or apps cannot be kept in PEER_HOME
          """),
      .init(number: 6, meaning: "there is not enough space")))

  static let appList = CommandDescription(
    usage: "app list", summary: "the apps of this device",
    forms: [Form(.optional(["--json"]))],
    blocks: [
      .text(
        """
        Shows the apps of this device, and their clips: identifier, version, name, how the last import into each ended, and
        who uses it just now.
        """)
    ],
    options: [.json, .help],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, also if there is none"), .failed, .wrongCommand,
      .init(number: 4, meaning: "apps cannot be kept in PEER_HOME")))

  static let appRun = CommandDescription(
    usage: "app run ID [ARGS...]", summary: "start an app",
    forms: [Form(.operand("ID"), .operand("[ARGS...]"))],
    operands: [Operand(value: .app), Operand(value: .path, isRepeatable: true)],
    blocks: [
      .text(
        """
        Starts an app, with its container for its home, and becomes it. Everything behind ID is the app's, options as well.
        While its data is being migrated, an app cannot be started. An import that was interrupted is undone first. At the
        third start since an import, a note says so if the app has not cleared how that ended. For a clip whose app has
        taken its place, the app is started, and a note says so.
        """)
    ],
    options: [.help("Show the help text. Behind ID it is the app's.")],
    examples: ["peer app run org.example.notes today.txt"],
    exitCodes: ExitCodes(
      others: "the app's", .failed, .noSuchApp,
      .init(number: 4, meaning: "its data is being migrated, or PEER_HOME is not fit")))

  static let appStatus = CommandDescription(
    usage: "app status ID", summary: "how its last import ended",
    forms: [Form(.operand("ID"), .optional(["--clear", "--json"]))],
    operands: [Operand(value: .app)],
    blocks: [
      .text(
        """
        Shows how the last import into an app ended, until the app has cleared that, and whether an import is going on or
        was interrupted.
        """)
    ],
    options: [.flag("--clear", "Show it, and forget it."), .json, .help],
    exitCodes: ExitCodes(
      .init(number: 0, meaning: "done, however the import ended"), .failed, .noSuchApp,
      .init(number: 4, meaning: "to be cleared while the data is being migrated, or PEER_HOME is not fit")))

  static let appRemove = CommandDescription(
    usage: "app remove ID", summary: "remove an app and its data",
    forms: [Form(.operand("ID"), .optional(["--credentials", "--json"]))],
    operands: [Operand(value: .app)],
    blocks: [
      .text(
        """
        Removes an app, or a clip, and all of its data, without asking. What it shares with other apps of a group goes with
        the last of them. Credentials stay, and it says whose: the app finds them again when it is installed again.
        """)
    ],
    options: [
      .flag("--credentials", "Remove its credentials as well, and those of its clips."), .json, .help,
    ],
    exitCodes: ExitCodes(
      .done, .failed, .noSuchApp,
      .init(number: 4, meaning: "the app runs, its data is being migrated, or PEER_HOME is not fit")))

  static let appNew = CommandDescription(
    usage: "app new DIR", summary: "make the package of a new app",
    forms: [Form(.operand("DIR"), .optional(["--id", "--package", "--json"]))],
    operands: [Operand(value: .directory)],
    blocks: [
      .text(
        """
        Makes a Swift package with a small app, its migration extension, the extension's tests, and a script that puts the
        bundle together. It builds, passes its tests, and migrates at once. DIR is not there yet, or is an empty folder; its
        name becomes that of the app.
        """)
    ],
    options: [
      .value("--id", "ID", "The app's identifier. Without it: org.example. and the folder's name."),
      .value(
        "--package", "PATH", .directory,
        """
        The folder of the package that has AppMigrationKit. Without it: the clone that this program was built in, or what
        was installed with it.
        """),
      .json, .help,
    ],
    examples: ["peer app new ./Notes --id com.example.notes"],
    exitCodes: ExitCodes(
      .done, .failed,
      .init(
        number: 2,
        meaning: """
          the command line is wrong, there is no folder to make DIR in, no such PATH, or nothing was found in its place
          """),
      .init(number: 4, meaning: "DIR is not empty or has a name that cannot be, or PATH does not have AppMigrationKit"),
      .init(number: 6, meaning: "there is not enough space")))
}

extension ExitCodes.Code {
  static let noSuchApp = Self(
    number: 2, meaning: "the command line is wrong, or there is no such app")
}
