extension Shell {
  /// The script for zsh, to be read at its start or to be found in `$fpath`. Nothing that was found
  /// or typed is ever evaluated.
  static let zshScript = #"""
    #compdef peer
    # Completions of peer for zsh, written by 'peer completion zsh'. They ask the program peer that is found in PATH.

    # Asks peer what can stand at the cursor. It answers with a line that says what to offer and what stands in front of it in
    # the same word, and with a line for each word: the word, a tab, and what it means.
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
            # A colon would end the word, and a backslash is taken away in front of anything.
            word=${${word//\\/\\\\}//:/\\:}
            found+=("$word:${${line#*$tab}//\\/\\\\}")
          done
          if [[ ${lines[2]} == -* ]]; then
            _describe -o option found
          else
            _describe value found
          fi
          ;;
        # Also where peer does not answer.
        *) _files ;;
      esac
    }

    if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
      # zsh has found the file for the first time, and takes it for the function.
      _peer "$@"
    elif (( ${+functions[compdef]} )); then
      compdef _peer peer
    else
      print -ru2 -- "peer: hint: run compinit before the completions of peer are read"
    fi

    """#
}
