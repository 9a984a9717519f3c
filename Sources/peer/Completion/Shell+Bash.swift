extension Shell {
  /// The script for bash, 4.0 or later. Nothing that was found or typed is ever evaluated.
  static let bashScript = #"""
    # Completions of peer for bash, written by 'peer completion bash'.

    # Asks peer what can stand at the cursor. It answers with a line that says what to offer and what stands in front of it in
    # the same word, and with a line for each word: the word, a tab, and what it means.
    _peer() {
      local line=${COMP_LINE:0:COMP_POINT} index word typed start offer prefix meaning
      local -a words=() found=() meanings=()
      COMPREPLY=()
      # Bash divides words at = and : as well. What was typed in one piece is put together again.
      for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if ((index == 0)) || [[ $line == [[:space:]]* ]]; then
          line=${line#"${line%%[![:space:]]*}"}
          words+=("")
        fi
        [[ $line == "$word"* ]] || word=$line
        line=${line:${#word}}
        words[${#words[@]} - 1]+=$word
      done
      typed=${words[${#words[@]} - 1]}

      # What is replaced begins behind the last = or : at which bash has divided the word.
      start=0
      for ((index = 0; index < ${#typed}; index++)); do
        word=${typed:index:1}
        [[ $word == [=:] && $COMP_WORDBREAKS == *"$word"* ]] && start=$((index + 1))
      done

      {
        IFS=$'\t' read -r offer prefix
        while IFS=$'\t' read -r word meaning; do
          [[ $prefix$word == "$typed"* ]] || continue
          found+=("$prefix$word") meanings+=("$meaning")
        done
      } < <(command peer completion --words "${words[@]:1}" 2>/dev/null </dev/null)

      case $offer in
        words) ;;
        directories) compopt -o dirnames ;;
        # Also where peer does not answer.
        *) compopt -o default ;;
      esac
      for ((index = 0; index < ${#found[@]}; index++)); do
        if ((COMP_TYPE == 63 && ${#found[@]} > 1)) && [[ $typed != -* ]]; then
          # The list is only shown, and nothing of it inserted.
          COMPREPLY+=("${found[index]:start}  (${meanings[index]})")
        else
          printf -v word %q "${found[index]:start}"
          COMPREPLY+=("$word")
        fi
      done
    }

    complete -F _peer peer

    """#
}
