extension CommandDescription {
  static let receive = CommandDescription(
    usage: "receive [DIR]", summary: "receive files and folders, on the new device",
    forms: [
      Form(
        .operand("[DIR]"), .optional(["--existing", "--ask", "--max-size", "--owners", "--set-id-bits"]),
        .either(["--keep", "--code-file"]),
        .optional(["--listen", "--from", "--no-announce", "--give-up-after", "--label", "--verbose", "--json"])),
      Form(.required("--app"), .optional(["--platform", "--option", "--replace", "--listen"]), .more),
    ],
    operands: [Operand(value: .directory)],
    blocks: [
      .text(
        """
        Receives what another device sends, into DIR or the current directory. Shows an address and a code; the user who
        enters the code may send. What is already there is never overwritten, unless --existing replace says so.
        """),
      .text(
        """
        With --app, receives the data of an app that is installed here: its migration extension imports it, before the app
        is started for the first time. The extension is started once before a code is shown, and refused at once if it
        cannot import. What the other device says of its platform and its store is shown, and is its claim. The app learns how that ended ('peer app status ID'). The
        dots in the second form stand for those options of the first one that are not about files.
        """),
      .text(
        """
        A code works once, for 10 minutes and three tries; then there is another one. After 99 wrong codes no code is shown
        any more, until Enter is pressed at the terminal; without a terminal, and with --json, the command ends with 3.
        """),
      .text(
        """
        With --keep, takes one transfer after the other, each with a new code, until Ctrl-C or SIGTERM ends it with 130 or
        143. What fails is told, and the next one may come; a sender that was lost may come back at any later time.
        """),
      .text(
        """
        A transfer that was interrupted goes on by itself, without a code, when the sender comes back; also after a restart
        of both, with the same directory here and the same paths there.
        """),
      .text(
        """
        While it waits and receives, the process can create, change and remove nothing outside of DIR and PEER_HOME, where
        the kernel has Landlock 2 or later (Linux 5.19) and both file systems go with it, which is tried first; rights and
        times of other files are not covered by that. With --json the event 'confined' says so; where it is otherwise, a
        note and the event 'unconfined' do. DIR is made at once if it is missing. With --app it is the app's extension that
        is confined.
        """),
    ],
    options: receiveOptions,
    examples: [
      "peer receive",
      "peer receive ~/Incoming",
      "peer receive /srv/incoming --listen 192.0.2.7:5000",
      "peer receive --from 192.0.2.0/24",
      "peer receive ~/Incoming --keep",
      "peer receive --app org.example.notes",
    ],
    exitCodes: .transfer)

  private static let receiveOptions: [Option] = [
    .value("--app", "ID", .app, "The app whose data is wanted; 'peer app list' shows which are installed."),
    .value("--platform", "NAME", "What the app's exporter is told that this device is. Without it: linux."),
    .repeatable(
      "--option", "NAME=VALUE", "An option for the app's exporter, which need not know it; once for each."),
    .flag(
      "--replace",
      "Set data that the app has here aside. It comes back if the import fails, and goes if it succeeds."),
    .value("--existing", "MODE", .choice(existingModes), "What to do where a name is taken."),
    .flag(
      "--ask",
      """
      Show what is offered, and wait for yes at the terminal before anything is written. Without it the code that the sender
      has entered is consent enough.
      """),
    .value(
      "--max-size", "SIZE",
      """
      Take at most so many bytes of a transfer, as in 500k, 20M, 1.5G or 2T (k is 1000); with --keep, of each. What has
      more is refused with exit code 6: at once if it says so, else when a run has brought so much, or at its end. What an
      earlier run left may take room besides, and a few small files more may be on the disk. Without it: as much as there
      is room for.
      """),
    .flag("--keep", "Go on after a transfer, until the command is stopped."),
    .value(
      "--code-file", "FILE", .file,
      """
      Take the code from the first line of a file, and show none. 'peer code new' makes one, for this device and the
      sender. The file must be yours, no link, and for no other user to read (mode 0600). When the code is spent or over,
      the command ends with 3.
      """),
    .flag(
      "--owners",
      """
      Keep owners and groups, by their numbers, where the sender names them (--owners there too); for root. What cannot be
      set is counted. Without it: what arrives is yours.
      """),
    .flag(
      "--set-id-bits", "Keep set-user-ID and set-group-ID bits. Without it: they are dropped and counted."),
    .value(
      "--listen", "[HOST:]PORT",
      """
      Wait at this port, and at this address only. Without it: port 47470, at every address; an unfinished transfer keeps
      the port that it had.
      """),
    .repeatable(
      "--from", "ADDRESS[/BITS]",
      """
      Let only this address pair, or the addresses that share their first BITS with it: 192.0.2.7, 192.0.2.0/24,
      2001:db8::/64, fe80::1%eth0. May be repeated. What was paired before comes back from anywhere.
      """),
    .flag(
      "--no-announce",
      "Do not tell the network that this device waits, and how it is called; senders need its address then."),
    .value(
      "--give-up-after", "TIME",
      "How long to wait for a sender that was lost: seconds, or 90s, 10m, 2h. Without it: 10m."),
    .value(
      "--label", "TEXT",
      "What the other device calls this one, and what it is found by on the network. Without it: the host name."),
    .flag(
      "--verbose",
      "Show every useful address of this device, and not only that of the interface which the default route uses."),
    .json, .help,
  ]

  private static let existingModes = [
    ValueKind.Choice(
      word: "refuse",
      text: "the whole transfer, before anything is sent; this is what happens without the option."),
    ValueKind.Choice(
      word: "skip",
      text:
        "folders are merged, and existing items stay as they are. A file of equal size and time is not sent again."),
    ValueKind.Choice(
      word: "keep-both", text: "a folder or file that was sent gets another name, such as 'photos (2)'."),
    ValueKind.Choice(
      word: "replace",
      text: """
        folders are merged, and files and links take the places of files and links, each in one step. An item of another
        kind stays, and the one that was sent gets another name beside it.
        """),
  ]
}
