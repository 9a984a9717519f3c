extension CommandDescription {
  static let help = CommandDescription(
    usage: "help [COMMAND]", summary: "show the help of a command",
    forms: [["[--man]", "[COMMAND]"]],
    operands: [Operand(value: .command)],
    blocks: [
      .text(
        """
        Shows the help of a command, as 'peer COMMAND --help' does; without COMMAND, lists the commands.
        """)
    ],
    options: [
      .flag(
        "--man",
        """
        Print the manual page that describes the command, for man(1). 'peer send', 'peer receive' and 'peer app' have their
        own pages.
        """),
      .help,
    ],
    examples: ["peer help app install", "peer help --man send | man -l -"])
}

extension CommandDescription {
  static let completion = CommandDescription(
    usage: "completion SHELL", summary: "print completions for bash, zsh or fish",
    forms: [["bash|zsh|fish"]],
    operands: [
      Operand(value: .choice(Shell.allCases.map { ValueKind.Choice(word: $0.rawValue, text: $0.summary) }))
    ],
    blocks: [
      .text(
        """
        Prints a script with which a shell completes commands, options and their values, such as apps, unfinished transfers
        and waiting devices. A package of peer installs the scripts. Otherwise, let the shell read its script at each start,
        from ~/.bashrc, from ~/.zshrc after compinit, or from ~/.config/fish/config.fish:
        """),
      .lines(
        """
          source <(peer completion bash)
          source <(peer completion zsh)
          peer completion fish | source
        """),
      .text(
        """
        Or write the script to a file that the shell reads when it needs it. Bash needs the package bash-completion for this;
        zsh reads any folder that is in $fpath before compinit runs, so ~/.zshrc needs the line fpath+=(~/.zfunc) before
        compinit:
        """),
      .lines(Shell.allCases.map { "  \($0.rawValue.padded(to: 4))  \($0.file)" }.joined(separator: "\n")),
    ],
    options: [.help],
    examples: ["peer completion fish > ~/.config/fish/completions/peer.fish"])
}

extension CommandDescription {
  static let assistant = CommandDescription(
    usage: "assistant", summary: "move to a new computer, in your browser",
    forms: [["[--no-browser]"]],
    blocks: [
      .text(
        """
        Shows a page in your browser on which you move your files and the data of your apps from an old computer to a new
        one. Start it on both. 'peer send' and 'peer receive' do the same at a terminal, and ask the same questions.
        """),
      .text(
        """
        Opens the page, and prints its address at a terminal; it works once and for a minute. Only your own programs on
        this device reach the page. A transfer goes on if you close the page; start the command again to see it. The
        command ends ten seconds after the page is closed, if nothing runs. Ctrl-C ends a transfer in order; it can go on
        later.
        """),
    ],
    options: [
      .flag("--no-browser", "Print the address, and open no browser."),
      .help,
    ])
}
