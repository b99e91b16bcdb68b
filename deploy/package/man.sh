#!/usr/bin/env bash
# Prints a man page made from existing texts.
#   man.sh program NAME SECTION SUMMARY PROGRAM [PAGE...]
#       output of `PROGRAM --help`; for clusterctl also `PROGRAM help PAGE...`
#       for each PAGE, such as "config show"
#   man.sh keys NAME SUMMARY FILE.md...   Markdown files with tables of keys
# DATE and VERSION of the environment are its footer. PROGRAM may be several
# words, e.g. with an emulator.
set -euo pipefail

begin() {
  printf '.TH "%s" "%s" "%s" "clusterd %s" "clusterd"\n.nh\n.ad l\n' "$1" "$2" "$DATE" "$VERSION"
  printf '.SH NAME\n%s \\- %s\n' "$1" "$3"
}

# Escapes text, so that no line is a request and no hyphen becomes another sign.
plain() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\\([.']\\)/\\\\\\&\\1/"; }

# preformatted TITLE: prints standard input as a section, or (SS) a part of one.
preformatted() {
  printf '.%s "%s"\n.nf\n' "$1" "$2"
  plain
  printf '.fi\n'
}

program() {
  local name=$1 section=$2 summary=$3 page
  local -a run
  read -r -a run <<<"$4"
  shift 4
  begin "$name" "$section" "$summary"
  "${run[@]}" --help | preformatted SH DESCRIPTION
  [ $# -eq 0 ] || printf '.SH COMMANDS\n'
  for page in "$@"; do
    # shellcheck disable=SC2086  # words of a command
    "${run[@]}" help $page | preformatted SS "$name $page"
  done
}

keys() {
  begin "$1" 5 "$2"
  printf '.SH DESCRIPTION\n'
  awk '
    function text(line) {
      gsub(/\\/, "\\e", line); gsub(/-/, "\\-", line)
      while (match(line, /\[[^][]*\]\([^)]*\)/)) {
        word = substr(line, RSTART + 1, RLENGTH - 2); sub(/\]\(.*/, "", word)
        line = substr(line, 1, RSTART - 1) word substr(line, RSTART + RLENGTH)
      }
      while (match(line, /`[^`]*`/))
        line = substr(line, 1, RSTART - 1) "\\fI" substr(line, RSTART + 1, RLENGTH - 2) "\\fR" substr(line, RSTART + RLENGTH)
      gsub(/\*\*/, "", line)
      sub(/^[.\x27]/, "\\\\\\&&", line)
      return line
    }
    /^```/ { fenced = !fenced; print fenced ? ".PP\n.nf" : ".fi"; next }
    fenced { gsub(/\\/, "\\e"); gsub(/-/, "\\-"); sub(/^[.\x27]/, "\\\\\\&&"); print; next }
    /^# |^<!--/ { next }
    /^## / { print ".SH \"" toupper(text(substr($0, 4))) "\""; next }
    /^### / { print ".SS \"" text(substr($0, 5)) "\""; next }
    /^\|[-|]*\|$/ { rows = 1; next }
    # Skips the head of a table. Only the column of the default needs its name.
    /^\|/ && !rows { split($0, head, / *\| */); next }
    /^\|/ {
      line = $0; sub(/^\| */, "", line); sub(/ *\|$/, "", line)
      n = split(line, cell, / *\| */)
      print ".TP\n" text(cell[1])
      for (i = 2; i <= n; ++i) {
        if (head[i + 1] == "default" && cell[i] != "required") cell[i] = "default: " cell[i]
        if (cell[i] != "") printf "%s%s", text(cell[i]), i < n ? "; " : ""
      }
      print ""
      next
    }
    { rows = 0 }
    /^$/ { print ".PP"; next }
    sub(/^- /, "") { print ".IP \\(bu 2" }
    { sub(/^ +/, ""); print text($0) }
  ' "${@:3}"
}

: "${DATE:?}" "${VERSION:?}"
verb=${1-}
[ $# -eq 0 ] || shift
case $verb in
  program | keys) "$verb" "$@" ;;
  *)
    echo "man.sh: expected program or keys, got \"$verb\"" >&2
    exit 3
    ;;
esac
