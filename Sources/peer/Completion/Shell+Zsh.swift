extension Shell {
  /// The script for zsh, which it reads at its start or finds in `$fpath`. It never evaluates found
  /// or typed text.
  static let zshScript = #"""
    #compdef peer
    # Completions of peer for zsh, written by 'peer completion zsh'. They ask the program peer in PATH.

    # Asks peer for the completions at the cursor. The first line of the answer has the kind of the offer and the
    # prefix in the same word; each other line has a word, a tab, and its meaning.
    _peer() {
      local tab=$'\t' line word prefix
      local -a before lines found
      # Without the command itself, and without quotes.
      before=("${(@Q)words[2,CURRENT-1]}")
      (( CURRENT > 2 )) || before=()
      lines=("${(@f)$(command peer completion --words "${before[@]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
      prefix=${lines[1]#*$tab}
      [[ -z $prefix ]] || compset -P "$prefix"
      case ${lines[1]%%$tab*} in
        directories) _files -/ ;;
        words)
          for line in "${(@)lines[2,-1]}"; do
            [[ -n $line ]] || continue
            word=${line%%$tab*}
            # A colon would end the word, and zsh removes a backslash before any character.
            word=${${word//\\/\\\\}//:/\\:}
            found+=("$word:${${line#*$tab}//\\/\\\\}")
          done
          if [[ ${lines[2]} == -* ]]; then
            _describe -o option found
          else
            _describe value found
          fi
          ;;
        # Also if peer does not answer.
        *) _files ;;
      esac
    }

    if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
      # zsh has loaded the file for the first time, as the function itself.
      _peer "$@"
    elif (( ${+functions[compdef]} )); then
      compdef _peer peer
    else
      print -ru2 -- "peer: hint: run compinit before reading the completions of peer"
    fi

    """#
}
