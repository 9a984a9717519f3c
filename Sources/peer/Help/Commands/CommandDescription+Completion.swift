extension CommandDescription {
  static let completion = CommandDescription(
    usage: "completion SHELL", summary: "completions for bash, zsh or fish",
    forms: [Form(.operand("bash|zsh|fish"))],
    operands: [
      Operand(value: .choice(Shell.allCases.map { ValueKind.Choice(word: $0.rawValue, text: $0.summary) }))
    ],
    blocks: [
      .text(
        """
        Prints what a shell needs to complete commands, options and their values, such as apps, unfinished transfers and
        devices that wait. Where peer was installed as a package, it is in its place already. Elsewhere let the shell read
        it at each start, from ~/.bashrc, from ~/.zshrc behind compinit, or from ~/.config/fish/config.fish:
        """),
      .lines(
        """
          source <(peer completion bash)
          source <(peer completion zsh)
          peer completion fish | source
        """),
      .text(
        """
        Or write it to a file that the shell reads when it is needed. That of bash needs the package bash-completion; that
        of zsh may be in any folder that is in $fpath before compinit runs, so that ~/.zshrc has the line
        fpath+=(~/.zfunc) in front of compinit:
        """),
      .lines(Shell.allCases.map { "  \($0.rawValue.padded(to: 4))  \($0.file)" }.joined(separator: "\n")),
    ],
    options: [.help],
    examples: ["peer completion fish > ~/.config/fish/completions/peer.fish"],
    exitCodes: ExitCodes(.done, .unwritten, .wrongCommand))
}

/// A shell that can complete what is typed.
enum Shell: String, CaseIterable, Sendable {
  case bash
  case zsh
  case fish

  var summary: String { "completions for \(rawValue)" }

  /// Where it looks for a user's completions.
  fileprivate var file: String {
    switch self {
    case .bash: "~/.local/share/bash-completion/completions/peer"
    case .zsh: "~/.zfunc/_peer"
    case .fish: "~/.config/fish/completions/peer.fish"
    }
  }
}
