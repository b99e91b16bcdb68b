#!/usr/bin/env bash
# The check of the language of texts: it passes a good page, help and row, and finds each
# mistake where it is.
#   tests/prose.sh .ci/prose
set -euo pipefail
prose=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: prose: $*"
  exit 1
}
words() { printf 'w%.0s ' $(seq "$1"); }

# finds PAGE MESSAGE [FILE]: it prints only this about this page, help or row.
finds() {
  local said status=0 file=$work/${3:-page.md}
  printf '%s\n' "$1" >"$file"
  said=$("$prose" "$file") || status=$?
  [ "$said" = "${2:+$file:$2}" ] || fail "said \"$said\", expected \"$2\", of: $1"
  [ "$status" -eq "$([ -z "$2" ] && echo 0 || echo 1)" ] || fail "status $status, of: $1"
}

half=$(words 12)
finds "# Roll back

A host rolls back, e.g. \`rollback ID is told; anew: or else: now\`. There is no plan.

${half}
${half}last.

| one | ${half}|
|---|---|
| ${half}| two |

- ${half}word
- ${half}word

\`\`\`
nobody: is told: anew; nobody
${half}
${half}
\`\`\`" ""
finds "$(printf '…%.0s' $(seq 100))" ""

finds "<!-- generated: rows -->
| is told | $(printf '%0101d' 0) |
$(printf '| row |\n%.0s' $(seq 199))

Last." ""
finds "Good line.

${half}
${half}two more." "3: a sentence of 26 words, expected at most 25"
finds "${half}e.g. ${half}last." "1: a sentence of 26 words, expected at most 25"
finds "| a | ${half}
| b | ${half}${half}two more |" "2: a sentence of 26 words, expected at most 25"
finds "One: two; three." "1: a sentence with 2 colons or semicolons, expected at most 1"
finds "$(printf 'Short.\n%.0s' $(seq 6))" "1: a paragraph of 6 lines, expected at most 5"
finds "\`$(printf '%0100d' 0)\`" "1: a line of 102 columns, expected at most 100"
finds "\`\`\`
$(printf '%0101d' 0)" "2: a line of 101 columns, expected at most 100"
finds "$(printf 'A line.\n\n%.0s' $(seq 100))

Last." "201: a page of 201 lines, expected at most 200"
finds "The host
is **told**." "1: \"told\", expected notify, report or print"

# Help: an item is a paragraph of its own, and code in front of its comment.
items=$(printf '  - an item\n    of two lines\n%.0s' $(seq 4))
finds "Check the cluster

In these cases:
$items
The host rolls back.

Examples:
  id: one: two: three  # a comment" "" help.txt
finds "  - a host, a plan: and a: rule" "1: a sentence with 2 colons or semicolons, expected at most 1" help.txt
finds "  - $(words 9)
    $(words 9)
    $(words 8)" "1: a sentence of 26 words, expected at most 25" help.txt
finds "In this case:
  - the host
is told." "3: \"told\", expected notify, report or print" help.txt
finds "  a: b  # is told" "1: \"told\", expected notify, report or print" help.txt
finds "$(printf '%081d' 0)" "1: a line of 81 columns, expected at most 80" help.txt

# Rows: a subject, one colon, and a next step behind a semicolon.
row() { printf 'words {\n  name: "told"\n  text: "%s"\n}' "$1"; }
finds "$(row "{file}: the plan has {a}: expected {b}; ${half}${half}")" "" row.textproto
finds "$(row "{file}: says \\\"a: is told: b\\\", with roce: unused: expected c")" "" row.textproto
finds "$(row "one line\\n${half}${half}")" "" row.textproto
finds "$(row "{file}: one: two: three")" "3: a sentence with 2 colons or semicolons, expected at most 1" row.textproto
finds "$(row "one; two; three")" "3: a message with 2 semicolons, expected at most 1" row.textproto
finds "$(row "one; ${half}${half}two more")" "3: a sentence of 26 words, expected at most 25" row.textproto
finds "$(row "one\\ntwo is told")" "3: \"told\", expected notify, report or print" row.textproto
for field in one title observed expected why fix short_fix fix_without_command fails_when levels alone_why cause remedy; do
  finds "words { name: \"a\" value: \"told\" $field: \"is told\" }" "1: \"told\", expected notify, report or print" row.textproto
done
finds 'levels: "fail; warn for a; unknown for b"' "" row.textproto

# A page about the source code: every rule.
mkdir "$work/docs"
finds "${half}${half}two more." "1: a sentence of 26 words, expected at most 25" docs/limits.md

# A source: comments, also over lines, and texts of three words; a line may be long.
finds "int a = 1;  // here or else
$(printf '// %0101d' 0)
Say(\"is told\");  // a: b: c: d" "" a.cc
finds "// One
// host is
// told it. The next." '1: "told", expected notify, report or print' a.h
finds 'f("one", "a host is told");' '1: "told", expected notify, report or print' a.cc

# Replaced phrases, in a line, over lines and over literals.
count=0
while read -r phrase; do
  count=$((count + 1))
  last=${phrase##* }
  for text in "$phrase" "${phrase% *}"$'\n'"$last" "\"${phrase% *} \"
     \"$last\""; do
    printf '%s\n' "$text" >"$work/a.txt"
    said=$("$prose" "$work/a.txt") && fail "passes \"$text\""
    grep -qF "\"$phrase\" was replaced" <<<"$said" || fail "of \"$text\" said \"$said\""
  done
done < <(sed -n "/^replaced='/,/^'/p" "$prose" | grep -v "'")
[ "$count" -ge 40 ] || fail "$count replaced phrases, expected at least 40"

status=0
"$prose" "$work/none.md" >"$work/out" 2>&1 || status=$?
[ "$status" -ne 0 ] || fail "passes a page that is not there"

# Each banned phrase, in the middle of a sentence or, with a capital letter, at its beginning.
count=0
while IFS=: read -r better list; do
  IFS=, read -r -a banned <<<"$list"
  for phrase in "${banned[@]}"; do
    phrase=${phrase# }
    count=$((count + 1))
    printf 'A %s b.\n%s c.\n' "${phrase,,}" "${phrase^}" >"$work/page.md"
    said=$("$prose" "$work/page.md") && fail "passes \"$phrase\""
    grep -qF "\"$phrase\", expected $better" <<<"$said" || fail "of \"$phrase\" said \"$said\""
  done
done < <(sed -n "/^phrases='/,/^'/p" "$prose" | grep ': ')
[ "$count" -ge 30 ] || fail "$count phrases, expected at least 30"
# A Chinese character has two columns, and a page in Chinese no other rule.
printf '字%.0s' $(seq 51) >"$work/zh.md"
said=$("$prose" "$work/zh.md") && fail "51 characters: nothing said"
[ "$said" = "$work/zh.md:1: a line of 102 columns, expected at most 100" ] || fail "51 characters: said \"$said\""

echo "prose: $count phrases and every length are found"
