extension Shell {
  /// The script for fish, 3.0 or later. It never evaluates found or typed text.
  static let fishScript = #"""
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
