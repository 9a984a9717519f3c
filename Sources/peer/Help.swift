/// The help texts: what they say is what the program does.
enum Help {
  /// The text for a verb, or for the whole program.
  static func text(_ topic: Verb?) -> String {
    switch topic {
    case nil: overview
    case .receive: receive + "\n" + exitCodes
    case .send: send + "\n" + exitCodes
    case .discover: discover
    case .resume: resume
    case .forget: forget
    case .app: app
    case .appInstall: appInstall
    case .appList: appList
    case .appRemove: appRemove
    case .appRun: appRun
    case .appStatus: appStatus
    case .code: code
    case .codeNew: codeNew
    }
  }

  private static let overview = """
    Usage:
      peer receive [DIR]              on the new device
      peer send PATH... [--to HOST]   on the old device
      peer discover                   devices on the network that wait
      peer resume list                what was interrupted
      peer forget ID                  give up what was interrupted
      peer app install BUNDLE         install an app that can be migrated
      peer app list                   the apps of this device
      peer app run ID [ARGS...]       start an app
      peer app status ID              how its last import ended
      peer app remove ID              remove an app and its data
      peer code new                   a code for two devices and a script
      peer help [COMMAND]
      peer --version

    peer moves files and folders from one device to another, over an encrypted
    connection between the two and nothing else. The new device shows an address
    and a code; the old one asks for the code and sends.

    Example:
      new$ peer receive ~/Incoming
      On the other device:  peer send PATH... --to 192.0.2.7
                  or just:  peer send PATH...   (same network)
      Code: 4829-1367   (works once, for 10 minutes)

      old$ peer send Documents Pictures
      Found new-laptop (192.0.2.7).
      Code shown on new-laptop (192.0.2.7): 4829-1367

    What was interrupted goes on when its command is run again.
    'peer help receive' and so on describe options and exit codes.

    """

  private static let receive = """
    Usage:
      peer receive [DIR] [--existing MODE] [--ask] [--owners] [--set-id-bits]
                   [--keep | --code-file FILE]
                   [--listen [HOST:]PORT] [--from ADDRESS[/BITS]]...
                   [--no-announce] [--give-up-after TIME] [--label TEXT]
                   [--verbose] [--json]
      peer receive --app ID [--platform NAME] [--option NAME=VALUE]... [--replace]
                   [--listen [HOST:]PORT] ...

    Receives what another device sends, into DIR or the current directory.
    Shows an address and a code; whoever enters the code may send. What is already
    there is never overwritten, unless --existing replace says so.

    With --app, receives the data of an app that is installed here: its migration
    extension imports it, before the app is started for the first time. The app
    learns how that ended ('peer app status ID').

    A code works once, for 10 minutes and three tries; then there is another one.
    After 99 wrong codes no code is shown any more, until Enter is pressed at the
    terminal; without a terminal, and with --json, the command ends with 3.

    With --keep, takes one transfer after the other, each with a new code, until
    Ctrl-C or SIGTERM ends it with 130 or 143. What fails is told, and the next one
    may come; a sender that was lost may come back at any later time.

    A transfer that was interrupted goes on by itself, without a code, when the
    sender comes back; also after a restart of both, with the same directory here
    and the same paths there.

    While it waits and receives, the process can create, change and remove nothing
    outside of DIR and PEER_HOME, where the kernel has Landlock 2 or later (Linux
    5.19) and both file systems go with it, which is tried first; rights and times
    of other files are not covered by that. With --json the event 'confined' says
    so; where it is otherwise, a note and the event 'unconfined' do. DIR is made at
    once if it is missing. With --app it is the app's extension that is confined.

    Options:
      --app ID              The app whose data is wanted; 'peer app list' shows
                            which are installed.
      --platform NAME       What the app's exporter is told that this device is.
                            Without it: linux.
      --option NAME=VALUE   An option for the app's exporter, which need not know
                            it; once for each.
      --replace             Set data that the app has here aside. It comes back if
                            the import fails, and goes if it succeeds.
      --existing MODE       What to do where a name is taken.
                            refuse: the whole transfer, before anything is sent;
                            this is what happens without the option.
                            skip: folders are merged, and what is there stays as
                            it is. What has equal size and time is not sent again.
                            keep-both: a folder or file that was sent gets another
                            name, such as 'photos (2)'.
                            replace: folders are merged; files and links take the
                            places of files and links, each in one step. What is
                            of another kind stays, and gets company.
      --ask                 Show what is offered, and wait for yes at the terminal
                            before anything is written. Without it the code that
                            the sender has entered is consent enough.
      --keep                Go on after a transfer, until the command is stopped.
      --code-file FILE      Do not show a code: take the one in the first line of
                            a file that 'peer code new' has made, for this
                            device and the sender. The file must be yours, no
                            link, and for no other user to read (mode 0600).
                            When the code is spent or over, the command ends
                            with 3.
      --owners              Keep owners and groups, by their numbers, where the
                            sender names them (--owners there too); for root. What
                            cannot be set is counted. Without it: what arrives is
                            yours.
      --set-id-bits         Keep set-user-ID and set-group-ID bits. Without it:
                            they are dropped and counted.
      --listen [HOST:]PORT  Wait at this port, and at this address only.
                            Without it: port 47470, at every address; an
                            unfinished transfer keeps the port that it had.
      --from ADDRESS[/BITS] Let only this address pair, or the addresses that share
                            their first BITS with it: 192.0.2.7, 192.0.2.0/24,
                            2001:db8::/64, fe80::1%eth0. May be repeated. What was
                            paired before comes back from anywhere.
      --no-announce         Do not tell the network that this device waits, and
                            how it is called; senders need its address then.
      --give-up-after TIME  How long to wait for a sender that was lost: seconds,
                            or 90s, 10m, 2h. Without it: 10m.
      --label TEXT          What the other device calls this one, and what it is
                            found by on the network. Without it: the host name.
      --verbose             Show every useful address of this device, and not only
                            that of the interface which the default route uses.
      --json                Report to a program: one JSON object a line, on
                            standard output.
      -h, --help            Show this text.

    Examples:
      $ peer receive
      $ peer receive ~/Incoming
      $ peer receive /srv/incoming --listen 192.0.2.7:5000
      $ peer receive --from 192.0.2.0/24
      $ peer receive ~/Incoming --keep
      $ peer receive --app org.example.notes

    """

  private static let resume = """
    Usage:
      peer resume list [--json]

    Shows the transfers of this device that are not over: an ID, what is sent or
    where it arrives, the other device, how much has arrived, and when it was last
    connected. To go on with one, run its command again; it asks for no code.

    Options:
      --json      Report to a program: one JSON object a line, on standard output.
      -h, --help  Show this text.

    Exit codes: 0, also if there is none; 1 failed; 2 the command line is wrong;
    4 PEER_HOME is another user's, or others may write to it.

    """

  private static let forget = """
    Usage:
      peer forget ID [--json]

    Gives up an unfinished transfer: what has arrived of it here is removed, and its
    keys with it. The other device keeps its half until it is forgotten there. ID is
    what 'peer resume list' shows, or its first digits, at least four.

    Options:
      --json      Report to a program: one JSON object a line, on standard output.
      -h, --help  Show this text.

    Exit codes: 0 done; 1 failed; 2 the command line is wrong, or no transfer or
    more than one has such an ID; 4 the transfer is in use, or PEER_HOME is another
    user's, or others may write to it.

    """

  private static let code = """
    Usage:
      peer code new

    A code that a script makes for both devices; 'peer help code new' says more.

    Options:
      -h, --help  Show this text.

    """

  private static let codeNew = """
    Usage:
      peer code new [--code-file FILE]

    Makes a code for one transfer, for a script that starts both ends: each gets it
    by --code-file. It is written to FILE, a new file that only you can read, or to
    standard output. Never give it as an argument: those are visible to every user.

    Options:
      --code-file FILE  The file to make. One that is there is left as it is.
      -h, --help        Show this text.

    Examples:
      $ peer code new --code-file code
      $ ssh new-laptop 'umask 077; cat > code' < code

    Exit codes: 0 done; 1 failed, also where FILE is there; 2 the command line is
    wrong.

    """

  private static let exitCodes = """
    Exit codes:
        0  done
        1  failed, here or on the other device; where a disk failed, what has
           arrived is kept, and the same command goes on once that is mended
        2  the command line is wrong
        3  the devices are not paired: no code, a wrong one, or another device
        4  refused by the other device, or the destination or PEER_HOME is not fit
        5  the connection was lost, or the other device's user interrupted it *
        6  there is not enough space *
        7  everything has arrived, but could not be put in place
        8  done, but some items could not be sent, or not be stored
        9  the source could not be read to its end *
      130  interrupted by Ctrl-C *
      143  ended by SIGTERM *
      * What has arrived is kept. The same command goes on with it.

    """
}
