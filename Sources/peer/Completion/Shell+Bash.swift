extension Shell {
  /// The script for bash, 4.0 or later. It never evaluates found or typed text.
  static let bashScript = #"""
    # Completions of peer for bash, written by 'peer completion bash'. They ask the program peer in PATH.

    # Asks peer for the completions at the cursor. The first line of the answer has the kind of the offer and the
    # prefix in the same word; each other line has a word, a tab, and its meaning.
    _peer() {
      local line=${COMP_LINE:0:COMP_POINT} replaced=${2-} quote="" last="" word="" index character start offer prefix meaning
      local -i inside=0 redirected=0
      local -a words=() found=() meanings=()
      COMPREPLY=()
      # Bash also divides words at = and :, and keeps their quotes. This loop finds the words as the command gets them:
      # without quotes and without redirections.
      for ((index = 0; index < ${#line}; index++)); do
        character=${line:index:1}
        if [[ -n $quote && $character == "$quote" ]]; then
          quote=""
        elif [[ $quote != "'" && $character == \\ ]]; then
          index=$((index + 1))
          [[ -z $quote || ${line:index:1} == [\$\`\"\\] ]] || word+=$character
          word+=${line:index:1} inside=1
        elif [[ -n $quote ]]; then
          word+=$character
        elif [[ $character == [\'\"] ]]; then
          quote=$character inside=1
        elif [[ $character == [\<\>] || ($character == [\&\|] && $last == [\<\>]) ]]; then
          # Digits before it are the number of a descriptor.
          if ((inside && !redirected)) && [[ -z $word || $word == *[!0-9]* ]]; then words+=("$word"); fi
          word="" inside=0 redirected=1
        elif [[ $character != [[:space:]] ]]; then
          word+=$character inside=1
        elif ((inside)); then
          ((redirected)) || words+=("$word")
          word="" inside=0 redirected=0
        fi
        last=$character
      done
      if ((redirected)); then
        compopt -o default
        return
      fi
      words+=("$word")

      # Bash replaces the end of the word: the part after the last character at which it divides words, or after a quote.
      start=0
      if [[ $line == *"$replaced" ]]; then
        [[ -n $quote ]] || replaced=${replaced//\\/}
        start=$((${#word} > ${#replaced} ? ${#word} - ${#replaced} : 0))
      fi

      {
        IFS=$'\t' read -r offer prefix
        while IFS=$'\t' read -r line meaning; do
          [[ $prefix$line == "$word"* ]] || continue
          found+=("$prefix$line") meanings+=("$meaning")
        done
      } < <(command peer completion --words "${words[@]:1}" 2>/dev/null </dev/null)

      case $offer in
        words) ;;
        directories) compopt -o dirnames ;;
        # Also if peer does not answer.
        *) compopt -o default ;;
      esac
      for ((index = 0; index < ${#found[@]}; index++)); do
        if ((COMP_TYPE == 63 && ${#found[@]} > 1)) && [[ $word != -* ]]; then
          # The list is only shown; nothing is inserted.
          COMPREPLY+=("${found[index]:start}  (${meanings[index]})")
        elif [[ -n $quote ]]; then
          COMPREPLY+=("${found[index]:start}")
        else
          printf -v line %q "${found[index]:start}"
          COMPREPLY+=("$line")
        fi
      done
    }

    complete -F _peer peer

    """#
}
