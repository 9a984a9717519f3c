/// The description of the program as a whole.
enum Overview {
  static let summary = "move files, folders and the data of apps from one device to another"

  static let text = """
    peer moves files and folders from one device to another, over an encrypted connection directly between the two. The
    new device shows an address and a code; the old device asks for the code and sends.
    """

  static let example = """
      new$ peer receive ~/Incoming
      On the other device:  peer send PATH... --to 192.0.2.7
                  or just:  peer send PATH...   (same network)
      Code: 4829-1367   (works once, for 10 minutes)

      old$ peer send Documents Pictures
      Found new-laptop (192.0.2.7).
      Code shown on new-laptop (192.0.2.7): 4829-1367
    """

  static let resuming = "To resume an interrupted transfer, run its command again."

  /// The commands that do something, in the order of the overview.
  static var commands: [Verb] { Verb.allCases.filter(\.members.isEmpty) }

  static let help = Option.help("List the commands.")

  /// The options that are given without a command.
  static let options: [Option] = [
    .flag("--version", "Show the version."), help,
  ]
}
