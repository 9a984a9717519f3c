/// The description of the program as a whole.
enum Overview {
  static let summary = "move files, folders and the data of apps from one device to another"

  static let text = """
    peer moves files and folders from one device to another, over an encrypted connection between the two and nothing else.
    The new device shows an address and a code; the old one asks for the code and sends.
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

  static let resuming = "A transfer that was interrupted goes on when its command is run again."

  /// The commands that do something, in the order in which they are shown.
  static var commands: [Verb] { Verb.allCases.filter(\.members.isEmpty) }

  static let help = Option.help("Show which commands there are.")

  /// What may stand in the place of a command.
  static let options: [Option] = [
    .flag("--version", "Show which version this is."), help,
  ]
}
