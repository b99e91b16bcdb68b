# The notifiers beside it source this: it reads the news of clusterd-controller
# on standard input and posts JSON to the web address in a file. The address is
# secret: curl reads it on its standard input, so that process lists, logs and
# messages do not show it. Needs curl, not jq. NOTIFY_SECONDS, default 8, limits
# the wait for an answer: keep it below the notifier's deadline.
# shellcheck shell=sh
set -u
export LC_ALL=C
if [ $# -eq 0 ]; then
  echo "${0##*/}: expected a file that has the web address" >&2
  exit 1
fi
# EX_TEMPFAIL of sysexits.h: the controller sends the news again later.
later=75

# line FILE: the one line of a file that only the controller's user should read,
# quoted for a configuration of curl.
line() {
  text=$(sed -e 's/[[:space:]]*$//' -e 's/["\]/\\&/g' <"$1") || exit 1
  case $text in
    '' | *[!!-~]*)
      echo "expected one line of printable ASCII without blanks in $1" >&2
      exit 1
      ;;
  esac
  printf '%s' "$text"
}

# post URL_FILE [TOKEN_FILE]: posts standard input and prints the answer. Exits
# 75 without an answer, for an untrusted certificate, and for the HTTP statuses
# 429 and 5xx. Follows no redirection.
post() {
  address=$(line "$1") || exit 1
  case $address in
    https://* | http://localhost[:/]* | http://127.0.0.1[:/]* | 'http://[::1]'[:/]*) ;;
    *)
      echo "expected an address that begins with https://, or http:// on loopback, in $1" >&2
      exit 1
      ;;
  esac
  header=
  if [ $# -gt 1 ]; then
    token=$(line "$2") || exit 1
    header="header = \"Authorization: Bearer $token\""
  fi
  exec 3<&0
  answer=$(printf 'url = "%s"\n%s\n' "$address" "$header" |
    curl -q --config - --globoff --silent --show-error --max-time "${NOTIFY_SECONDS:-8}" \
      --max-filesize 1000000 --header 'Content-Type: application/json' --header 'Expect:' \
      --data-binary @/dev/fd/3 --write-out '%{http_code}')
  case $? in
    0) ;;
    1 | 2 | 3 | 26 | 126 | 127) exit 1 ;;
    *) exit "$later" ;;
  esac
  code=${answer#"${answer%???}"}
  case $code in
    2??) printf '%s\n' "${answer%???}" ;;
    *)
      echo "the server answered $code" >&2
      case $code in 429 | 5??) exit "$later" ;; *) exit 1 ;; esac
      ;;
  esac
}

# sentence: one sentence for people, still with JSON's escapes.
sentence() {
  word='"([^"]*)"'
  sed -nE 's/^\{"schema_version":1,"cluster":'"$word"',"schedule":'"$word"',"run_id":'"$word"',"verdict_before":'"$word"',"verdict":'"$word"',"summary":"(([^"\]|\\.)*)".*/clusterd \1: schedule \2: \5, was \4; \6. Details: clusterctl show \3/p' |
    sed -E 's/: ([a-z]+), was \1; /: still \1; /'
}

# robot FORMAT BUSY URL_FILE: posts that sentence in place of the %s of FORMAT.
# A robot answers 200 with a number: 0 if it took the message. For the numbers
# BUSY the same message may be sent again later.
robot() {
  news=$(sentence)
  if [ -z "$news" ]; then
    echo "standard input is not the JSON that clusterd-controller sends" >&2
    exit 1
  fi
  # shellcheck disable=SC2059  # FORMAT is one
  answer=$(printf "$1" "$news" | post "$3") || exit
  number=$(printf '%s' "$answer" | tr -d '[:space:]' | sed -nE 's/.*"(errcode|code|StatusCode)":(-?[0-9]+).*/\2/p')
  [ "$number" != 0 ] || exit 0
  printf 'the robot refused the message: %s\n' "$answer" >&2
  case " $2 " in *" $number "*) exit "$later" ;; esac
  exit 1
}
