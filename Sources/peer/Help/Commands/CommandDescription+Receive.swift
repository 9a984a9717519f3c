extension CommandDescription {
  static let receive = CommandDescription(
    usage: "receive [DIR]", summary: "receive files and folders, on the new device",
    forms: [
      ["[DIR]", "[--keep | --code-file FILE]", "[OPTION]..."],
      ["--app ID", "[--replace]", "[OPTION]..."],
      ["--everything", "[DIR]", "[--replace]", "[--take-apps]", "[--take-secrets]", "[OPTION]..."],
    ],
    operands: [Operand(value: .directory)],
    blocks: [
      .text(
        """
        Receives the files and folders that another device sends, into DIR (default: the current directory). Shows an
        address and a code; only a sender with the code may send. Existing items are never overwritten, except with
        --existing replace. By default, the whole transfer is refused before any data is sent if a name is taken.
        """),
      .text(
        """
        With --app, receives the data of an app that is installed here. The app's migration extension imports the data
        before the app is started for the first time. The extension is started once before a code is shown; if it cannot
        import, the command fails at once. The platform and the store that the other device names are shown; they are its
        claim. The app learns the result of the import ('peer app status ID').
        """),
      .text(
        """
        With --everything, receives the parts of 'peer send --everything', or of any other sender: folders into DIR, and
        the data of each installed app. Existing folders are merged, and existing files are kept; there
        is no other mode. A part that cannot be taken is named with its reason, and the others arrive.
        """),
      .text(
        """
        What arrives is of three classes, and this device alone says which: files; apps' data, all of which may hold what
        a program runs, with all that would lie where programs look for it (names with a dot, bin and snap in a home,
        folders of PATH, peer's own folders); secrets, and what makes a computer itself. Without a person who answers,
        only files are taken. At a terminal, apps' data is asked about, and then the secrets in it. What is not taken is
        named on both devices, and the rest arrives.
        """),
      .text(
        """
        A code works once, for 10 minutes and three tries; then a new code is shown. After 99 wrong codes, no code is
        shown until the user presses Enter at the terminal. Without a terminal, and with --json, the command ends with
        exit code 3.
        """),
      .text(
        """
        With --keep, receives one transfer after another, each with a new code, until Ctrl-C (exit code 130) or SIGTERM
        (143) ends it. A failed transfer is reported, and the next one may come. A sender that lost its connection may
        return at any later time. With --at-once N, N transfers run at the same time; one code is shown at a time.
        """),
      .text(
        """
        An interrupted transfer resumes by itself, without a code, when the sender returns. After a restart of both
        commands, it resumes if the directory here and the paths there are the same.
        """),
      .text(
        """
        While the process waits and receives, it can create, change and remove files only in DIR and PEER_HOME. This
        takes Landlock 2 or later (Linux 5.19), and both file systems must support it, which is tested first. Permissions
        and times of other files are not covered. With --json, the event 'confined' reports this. A process that is not
        confined says so by a note and by the event 'unconfined'. Nor can the process reach other programs, such as the
        session's bus; with --owners it can reach services, which may know users. A missing DIR is created at once. With
        --app, the data is in PEER_HOME; the app's extension is confined further.
        """),
    ],
    options: receiveOptions,
    examples: [
      "peer receive",
      "peer receive ~/Incoming",
      "peer receive /srv/incoming --listen 192.0.2.7:5000",
      "peer receive --from 192.0.2.0/24",
      "peer receive --via relay.example.org",
      "peer receive ~/Incoming --keep",
      "peer receive --app org.example.notes",
      "peer receive --everything",
    ],
    exitCodes: .transfer)

  private static let receiveOptions: [Option] = [
    .value("--app", "ID", .app, "Receive the data of this app; 'peer app list' lists the installed apps."),
    .flag(
      "--everything",
      """
      Receive all that 'peer send --everything', or any other 'peer send', sends: folders into DIR (default: your home
      directory), and the data of each app that is installed here. A part that cannot be taken is named with its reason,
      and the others arrive.
      """),
    .value(
      "--platform", "NAME", .word(platforms), "The platform of this device, for the app's exporter (default: linux)."),
    .repeatable(
      "--option", "NAME=VALUE",
      "An option for the app's exporter; a note names those that it does not know. Repeat it for each NAME."),
    .flag(
      "--replace",
      """
      Set aside the data that the app, or with --everything any app, has here. The data is restored if the import
      fails, and else kept under another name, which is shown.
      """),
    .value(
      "--into", "PATH", .text,
      """
      Put what each device sends into a folder of its own below DIR: {device} in PATH stands for the name that 'peer
      device name' has given a known device, or the first digits of the key of any other one, and {date} for the day
      (UTC) on which the transfer began. Not with --app or --everything.
      """),
    .value(
      "--existing", "MODE", .choice(existingModes),
      "What to do if a name is taken (default: refuse). Not with --app or --everything."),
    .value(
      "--removed", "ANSWER", .choice(removedAnswers),
      """
      What to do with items that arrived earlier and were moved or removed here since. A person at the terminal is
      asked for each folder. Without an answer they stay away, and the exit code is 8 on both devices.
      """),
    .flag(
      "--ask",
      """
      Show the plan, and write nothing until the user answers at the terminal. Without this option, the code that the
      sender enters is consent enough for files. With --json, the answers are lines of standard input.
      """),
    .flag(
      "--take-apps",
      """
      Take apps' data, and all that would lie where programs look for what they run, without a question: start files
      such as .bashrc, bin, the folders of PATH. It holds for this run.
      """),
    .flag(
      "--take-secrets",
      "With --take-apps, take secrets such as .ssh, keyrings and browsers' profiles without a question, too."),
    .value(
      "--max-size", "SIZE",
      """
      Receive at most this many bytes in a transfer, as in 500k, 20M, 1.5G or 2T (k is 1000); with --keep, in each
      transfer (default: as much as there is space for). A larger transfer is refused with exit code 6: at once if the
      announced size is larger, otherwise when a run has received that much, or at its end. Data of an earlier run and
      a few small files may take more space on the disk.
      """),
    .value(
      "--expire", "TIME",
      """
      Forget unfinished transfers into DIR that had no connection for so long, as in 36h or 14d (default: keep them),
      with what has arrived of them. Looks at the start, once an hour, and when a transfer is left unfinished.
      """),
    .value(
      "--max-kept", "SIZE",
      """
      Keep at most this many bytes of unfinished transfers into DIR (default: as many as there is space for). The one
      with the oldest connection is forgotten first. A transfer that is under way counts, and stays.
      """),
    .flag("--keep", "Continue after a transfer, until the command is stopped."),
    .value(
      "--at-once", "N", .text,
      """
      With --keep, serve up to N senders at the same time (1 to 16, default: 1). Further ones wait for their turn. A
      transfer that sends a name which another one is bringing is refused as if the name were taken.
      """),
    .flag(
      "--verify",
      """
      Before a file is put in place, read it again from the disk, and compare it with the sender's checks. One that
      differs is not stored, and both devices name it (exit code 8). What an earlier run has put in place is not
      read again; that is said.
      """),
    .flag(
      "--remember",
      """
      Let known devices send without a code, and know those that pair now if 'peer send' there has --remember too.
      'peer device' lists and forgets them. Other devices need the code.
      """),
    .value(
      "--code-file", "FILE", .file,
      """
      Read the code from the first line of FILE, and show no code. 'peer code new' creates such a file, for this device
      and the sender. You must own the file; it must not be a link, and other users must not be able to read it (mode
      0600). When the code is used up or expired, the command ends with exit code 3.
      """),
    .flag(
      "--owners",
      """
      Keep the owners and groups that the sender sends (--owners there too), also in access lists; for root. They are
      looked up here by their names; one whose name is unknown here keeps its number, and such items are counted. Those
      that cannot be set are counted (default: received files are yours).
      """),
    .value(
      "--owner-map", "FILE", .file,
      """
      With --owners, say in FILE who users and groups of the sender are here. It has lines 'user OLD NEW' and 'group OLD
      NEW', with names or numbers. A line for a name comes before one for its number.
      """),
    .flag(
      "--set-id-bits",
      """
      Keep the set-user-ID and set-group-ID bits of items whose owner is kept; needs --owners on both devices (default:
      they are dropped and counted).
      """),
    .value(
      "--listen", "[HOST:]PORT",
      """
      Listen on this port, and only on this address (default: port 47470 on every address; an unfinished transfer keeps
      its port).
      """),
    .repeatable(
      "--from", "ADDRESS[/BITS]",
      """
      Accept a new pairing only from this address, or from addresses with the same first BITS: 192.0.2.7, 192.0.2.0/24,
      2001:db8::/64, fe80::1%eth0. May be repeated. A paired sender may return from any address.
      """),
    .flag(
      "--no-announce",
      "Do not announce this device and its name on the network; senders then need its address."),
    .value(
      "--via", "HOST[:PORT]",
      """
      Wait at this relay too, so that a device behind another router can send: the code gets the place there in front of
      it. PEER_RELAY names a relay for good. The default port is 47471.
      """),
    .viaTokenFile,
    .value(
      "--give-up-after", "TIME",
      "How long to wait for the sender to reconnect: seconds, or 90s, 10m, 2h (default: 10m)."),
    .value(
      "--label", "TEXT",
      "The name of this device on the other device and on the network (default: the host name)."),
    .flag(
      "--verbose",
      "Show every useful address of this device, not only that of the interface with the default route."),
    .value(
      "--report", "FILE", .file,
      """
      List the items that are not sent, not stored or renamed in FILE; as JSON if its name ends in .json (default:
      PEER_HOME/last-receive.txt, if there are more than 20).
      """),
    .json, .help,
  ]

  private static let removedAnswers = [
    ValueKind.Choice(word: "again", text: "let them arrive again."),
    ValueKind.Choice(word: "meant", text: "they were meant to be removed; remember that."),
  ]

  private static let existingModes = [
    ValueKind.Choice(
      word: "refuse",
      text: "refuse the whole transfer before any data is sent."),
    ValueKind.Choice(
      word: "skip",
      text:
        "merge folders and keep existing items. A file of the same size and time is not sent again."),
    ValueKind.Choice(
      word: "keep-both", text: "save the new folder or file under another name, such as 'photos (2)'."),
    ValueKind.Choice(
      word: "replace",
      text: """
        merge folders and replace existing files and links with new ones, each in one step. An existing folder gets no
        permission that it did not have. An existing item of another type is kept; the new one is saved under a
        different name.
        """),
    ValueKind.Choice(
      word: "update",
      text: """
        merge folders; a file or link that differs from the existing one replaces it as with 'replace', and one of the
        same size and time is not sent again. Nothing is removed. For copies that are repeated: with --remember, only the
        changed blocks of a large file are sent.
        """),
    ValueKind.Choice(
      word: "merge",
      text: """
        merge folders; an item that differs from the existing one is saved under a different name, and the existing one is
        kept. A file of the same size and time is not sent again. A database with its journals, and a folder under
        version control, are saved whole.
        """),
  ]
}
