# bash completion of clusterctl, as `clusterctl completion bash` prints it.
_clusterctl() {
  local line=${COMP_LINE:0:COMP_POINT} typed=${COMP_WORDS[COMP_CWORD]} whole before word
  local -a words
  COMPREPLY=()
  read -r -a words <<<"$line"
  case $line in *[[:space:]]) words+=("") ;; esac
  # bash begins a new word behind "=" and ":", and puts in only the rest of it.
  whole=${words[${#words[@]} - 1]}
  case $typed in = | :) typed= ;; esac
  before=${whole%"$typed"}
  # What comes is never expanded as shell words: no host's name runs a command.
  while IFS= read -r word; do
    if [ "$word" = ":files" ]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$typed")
      return
    fi
    word=${word%%$'\t'*}
    COMPREPLY+=("${word#"$before"}")
  done < <("$1" complete "${words[@]:1}" 2>/dev/null </dev/null)
}
complete -F _clusterctl clusterctl
