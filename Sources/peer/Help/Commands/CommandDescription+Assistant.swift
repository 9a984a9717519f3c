extension CommandDescription {
  static let assistant = CommandDescription(
    usage: "assistant", summary: "move to a new computer, in your browser",
    forms: [Form(.optional(["--no-browser"]))],
    blocks: [
      .text(
        """
        Shows a page in your browser on which you move your files and the data of your apps from an old computer to a new
        one. Start it on both. 'peer send' and 'peer receive' do the same at a terminal, and ask the same questions.
        """),
      .text(
        """
        Prints the page's address, which works once and for a minute, and opens it. Only your own programs on this device
        reach the page. A transfer goes on if you close the page; start the command again to see it. The command ends ten
        seconds after the page is closed, if nothing runs. Ctrl-C ends a transfer in order; it can go on later.
        """),
    ],
    options: [
      .flag("--no-browser", "Print the address, and open no browser."),
      .help,
    ],
    exitCodes: ExitCodes(
      .done, .failed, .wrongCommand, .init(number: 4, meaning: Surroundings.unfitHome),
      .init(number: 130, meaning: "interrupted by Ctrl-C"), .init(number: 143, meaning: "terminated by SIGTERM")))
}
