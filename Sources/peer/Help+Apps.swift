/// The help texts of `peer app`.
extension Help {
  static let app = """
    Usage:
      peer app install BUNDLE         install an app, or another version of it
      peer app list                   the apps of this device
      peer app run ID [ARGS...]       start an app
      peer app status ID              how its last import ended
      peer app remove ID              remove an app and its data

    An app whose author has written a migration extension can be moved with its data
    from one device to another. Each app has its data in a container of its own.

    Options:
      -h, --help  Show this text.

    'peer help app install' and so on describe each of them.

    """

  static let appInstall = """
    Usage:
      peer app install BUNDLE [--json]

    Installs an app from its bundle, or puts another version in the place of the one
    that is there; its data stays. An app that runs, or whose data is being
    migrated, is left as it is.

    A bundle is a directory:
      Info.plist          CFBundleIdentifier, CFBundleShortVersionString,
                          CFBundleExecutable
      Entitlements.plist  com.apple.security.application-groups; may be missing
      the app's program, named by CFBundleExecutable, and whatever it needs
      Extensions/NAME.appex/
        Info.plist          CFBundleIdentifier, CFBundleExecutable,
                            EXAppExtensionAttributes: EXExtensionPointIdentifier is
                            com.apple.app-migration
        Entitlements.plist  com.apple.developer.app-migration.data-container-access:
                            an array of the app's identifier alone
        the extension's program

    Options:
      --json      Report to a program: one JSON object a line, on standard output.
      -h, --help  Show this text.

    Example:
      $ peer app install ./Notes.app

    Exit codes: 0 done; 1 failed; 2 the command line is wrong, or there is no such
    directory; 4 the bundle is not made as it must be, the app is in use, or apps
    cannot be kept in PEER_HOME; 6 there is not enough space.

    """

  static let appList = """
    Usage:
      peer app list [--json]

    Shows the apps of this device: identifier, version, name, how the last import
    into each ended, and who uses it just now.

    Options:
      --json      Report to a program: one JSON object a line, on standard output.
      -h, --help  Show this text.

    Exit codes: 0, also if there is none; 1 failed; 2 the command line is wrong;
    4 apps cannot be kept in PEER_HOME.

    """

  static let appRemove = """
    Usage:
      peer app remove ID [--json]

    Removes an app and all of its data, without asking. What it shares with other
    apps of a group goes with the last of them.

    Options:
      --json      Report to a program: one JSON object a line, on standard output.
      -h, --help  Show this text.

    Exit codes: 0 done; 1 failed; 2 the command line is wrong, or there is no such
    app; 4 the app runs, its data is being migrated, or PEER_HOME is not fit.

    """

  static let appRun = """
    Usage:
      peer app run ID [ARGS...]

    Starts an app, with its container for its home, and becomes it. Everything
    behind ID is the app's, options as well. While its data is being migrated, an
    app cannot be started. An import that was interrupted is undone first.

    Options:
      -h, --help  Show this text. Behind ID it is the app's.

    Example:
      $ peer app run org.example.notes today.txt

    Exit codes: the app's; or 1 failed; 2 the command line is wrong, or there is no
    such app; 4 its data is being migrated, or PEER_HOME is not fit.

    """

  static let appStatus = """
    Usage:
      peer app status ID [--clear] [--json]

    Shows how the last import into an app ended, until the app has cleared that, and
    whether an import is going on or was interrupted.

    Options:
      --clear     Show it, and forget it.
      --json      Report to a program: one JSON object a line, on standard output.
      -h, --help  Show this text.

    Exit codes: 0, however the import ended; 1 failed; 2 the command line is wrong,
    or there is no such app; 4 to be cleared while the data is being migrated, or
    PEER_HOME is not fit.

    """
}
