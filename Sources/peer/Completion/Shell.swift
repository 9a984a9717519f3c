import MigrationEngine
import MigrationTransfer
import MigrationWire

/// A shell with completions.
enum Shell: String, CaseIterable, Sendable {
  case bash
  case zsh
  case fish

  var summary: String { "completions for \(rawValue)" }

  /// The file in which it looks for a user's completions.
  var file: String {
    switch self {
    case .bash: "~/.local/share/bash-completion/completions/peer"
    case .zsh: "~/.zfunc/_peer"
    case .fish: "~/.config/fish/completions/peer.fish"
    }
  }
}

extension Shell {
  /// Parses the words after `peer completion`.
  init(_ arguments: Arguments) throws(Failure) {
    let names = Self.allCases.map(\.rawValue)
    let hint = "Write one of \(names.joined(separator: ", ")), as in 'peer completion \(names[0])'."
    guard let word = arguments.operands.first else { throw .usage("missing argument: shell", hint: hint) }
    guard arguments.operands.count == 1 else {
      throw .usage(
        "unexpected argument \(VisibleText.quoted(arguments.operands[1])): 'peer completion' takes one shell",
        hint: hint)
    }
    guard let shell = Self.allCases.first(where: { Array($0.rawValue.utf8) == word }) else {
      throw .usage("unknown shell \(VisibleText.quoted(word))", hint: hint)
    }
    self = shell
  }
}

extension Shell {
  /// The script that it reads, which never evaluates found or typed text.
  var script: String {
    switch self {
    case .bash:
      // For bash 4.0 or later.
      #"""
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
    case .zsh:
      // The shell reads it at its start, or finds it in `$fpath`.
      #"""
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
        print -ru2 -- "peer: hint: Run compinit before reading the completions of peer."
      fi

      """#
    case .fish:
      // For fish 3.0 or later.
      #"""
      # Completions of peer for fish, written by 'peer completion fish'. They ask the program peer in PATH.

      # Asks peer for the completions at the cursor. The first line of the answer has the kind of the offer and the
      # prefix in the same word; each other line has a word, a tab, and its meaning.
      function __peer_answer
          set -l before (commandline -opc)
          set -e before[1]
          set -l typed (commandline -ct)
          command peer completion $argv $before "$typed" 2>/dev/null </dev/null
      end

      # Whether peer offers this kind.
      function __peer_offers
          set -l lines (__peer_answer --offer)
          string match -q -- "$argv[1]"\t'*' "$lines[1]"
      end

      function __peer_words
          set -l lines (__peer_answer --words)
          string match -q -- words\t'*' "$lines[1]"; or return
          set -l prefix (string replace -r '^[^\t]*\t' '' -- "$lines[1]")
          set -e lines[1]
          for line in $lines
              printf '%s%s\n' "$prefix" "$line"
          end
      end

      complete -c peer -e
      complete -c peer -f -a '(__peer_words)'
      # Also if peer does not answer.
      complete -c peer -n 'not __peer_offers words; and not __peer_offers directories' -F
      complete -c peer -n '__peer_offers directories' -f -a '(__fish_complete_directories (commandline -ct) "")'

      """#
    }
  }
}
